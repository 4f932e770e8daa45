//! Tests that the colours of series are distinguishable, by colour-blind people too: one man in twelve is.
//!
//! Colour blindness is simulated as Machado, Oliveira and Fernandes do, "A Physiologically-based Model for Simulation of Color
//! Vision Deficiency" (2009), table for a severity of 1; distances are those of the colour space Oklab, in which black and white
//! are 1 apart.

use super::STYLE;

type Colour = [f64; 3];

/// Red, green and blue as linear light, from 0 to 1.
fn light(hex: &str) -> Colour {
    [0, 2, 4].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

fn times(matrix: &[Colour; 3], colour: Colour) -> Colour {
    matrix.map(|row| row.iter().zip(colour).map(|(a, b)| a * b).sum())
}

const EYES: [(&str, [Colour; 3]); 4] = [
    ("all colours", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "no red",
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    ),
    (
        "no green",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    (
        "no blue",
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ),
];

fn oklab(light: Colour) -> Colour {
    let cones = times(
        &[
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ],
        light,
    );
    times(
        &[
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ],
        cones.map(|cone| cone.max(0.0).cbrt()),
    )
}

fn distance(a: Colour, b: Colour) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// The values of a variable in the style: in the light, and in the dark.
fn values(name: &str) -> Vec<Colour> {
    let name = format!("--{name}: #");
    STYLE.split(&name).skip(1).map(|rest| light(&rest[..6])).collect()
}

#[test]
fn the_colours_of_a_picture_differ_for_all_readers_and_stand_out_from_the_ground() {
    let series: Vec<Vec<Colour>> = (0..10).map(|n| values(&format!("s{n}"))).collect();
    let cards = values("card");
    for (at, theme) in ["light", "dark"].into_iter().enumerate() {
        let luminance = |c: Colour| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] + 0.05;
        for (n, colours) in series.iter().enumerate() {
            let (a, b) = (luminance(colours[at]), luminance(cards[at]));
            // The WCAG require this contrast of graphics.
            assert!(a.max(b) / a.min(b) >= 3.0, "{theme}: s{n} is hardly seen");
        }
        for (eye, matrix) in EYES {
            for (a, b) in (0..10).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let seen = |n: usize| oklab(times(&matrix, series[n][at]));
                let distance = distance(seen(a), seen(b));
                // Parts of bars touch each other, and there are up to six.
                let least = if (1..=6).contains(&a) && (1..=6).contains(&b) { 0.09 } else { 0.05 };
                assert!(distance >= least, "{theme}, {eye}: s{b} and s{a} are {distance:.3} apart");
            }
        }
    }
}
