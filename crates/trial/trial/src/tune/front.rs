//! The Pareto front: the points that no other point beats.

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
    fn the_points_on_it_are_those_that_no_other_point_beats() {
        assert_eq!(front(&[[1.0, 5.0], [2.0, 2.0], [5.0, 1.0], [3.0, 3.0], [2.0, 2.0]]), [0, 1, 2, 4]);
        assert_eq!(front::<2>(&[]), [0usize; 0]);
        assert_eq!(front(&[[1.0], [1.0], [2.0]]), [0, 1]);
    }
}
