//! The Pareto front: those that nobody beats in everything.

/// The places of those points that no other point beats: none is as low in all dimensions and lower in one.
pub fn front<const N: usize>(points: &[[f64; N]]) -> Vec<usize> {
    let beats = |a: &[f64; N], b: &[f64; N]| {
        a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b)
    };
    let is_on_it = |at: &usize| !points.iter().any(|other| beats(other, &points[*at]));
    (0..points.len()).filter(is_on_it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_on_it_is_beaten_and_nobody_else_is_unbeaten() {
        assert_eq!(front(&[[1.0, 5.0], [2.0, 2.0], [5.0, 1.0], [3.0, 3.0], [2.0, 2.0]]), [0, 1, 2, 4]);
        assert_eq!(front::<2>(&[]), [0usize; 0]);
        assert_eq!(front(&[[1.0], [1.0], [2.0]]), [0, 1]);
    }
}
