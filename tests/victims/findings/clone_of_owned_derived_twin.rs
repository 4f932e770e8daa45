// victim: looks at values of a type with a derived Clone, and clones those that it keeps; flags: --edition 2021
use std::hint::black_box;

#[derive(Clone)]
struct Person {
    name: String,
    towns: Vec<String>,
}

#[inline(never)]
fn total(people: &[Person], kept: &mut Vec<Person>) -> usize {
    let mut total = 0;
    for person in people {
        total += black_box(person).name.len() + person.towns.len();
        kept.push(person.clone());
    }
    total
}

fn main() {
    let person = |i: usize| Person { name: "x".repeat(20 + i % 10), towns: vec!["y".repeat(30); 2] };
    let people: Vec<Person> = (0..100).map(person).collect();
    let mut kept = Vec::with_capacity(5000);
    println!("total {}", (0..black_box(50)).map(|_| total(&people, &mut kept)).sum::<usize>());
}
