// victim: clones values of a type with a derived Clone only to look at them; flags: --edition 2021
use std::hint::black_box;

#[derive(Clone)]
struct Person {
    name: String,
    towns: Vec<String>,
}

#[inline(never)]
fn total(people: &[Person]) -> usize {
    let mut total = 0;
    for person in people {
        let copy = person.clone(); // here: clone-of-owned
        total += black_box(&copy).name.len() + copy.towns.len();
    }
    total
}

fn main() {
    let person = |i: usize| Person { name: "x".repeat(20 + i % 10), towns: vec!["y".repeat(30); 2] };
    let people: Vec<Person> = (0..100).map(person).collect();
    println!("total {}", (0..black_box(50)).map(|_| total(&people)).sum::<usize>());
}
