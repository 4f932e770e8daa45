//! A list is made anew for each line, or kept and cleared.

use std::hint::black_box;

pub(super) fn before(texts: &[String]) -> u64 {
    let mut sum = 0;
    for text in texts {
        let mut lengths: Vec<u64> = Vec::new();
        for word in text.split(' ') {
            lengths.push(word.len() as u64);
        }
        sum += weight(&lengths);
    }
    sum
}

pub(super) fn after(texts: &[String]) -> u64 {
    let mut sum = 0;
    let mut lengths: Vec<u64> = Vec::new();
    for text in texts {
        lengths.clear();
        for word in text.split(' ') {
            lengths.push(word.len() as u64);
        }
        sum += weight(&lengths);
    }
    sum
}

fn weight(lengths: &[u64]) -> u64 {
    black_box(lengths).iter().zip(1..).map(|(length, place)| length * place).sum()
}
