// victim: std::process::Command runs the program itself, with its output caught, kept and with a cleared environment; flags: --edition 2021
use std::hint::black_box;
use std::process::Command;

#[inline(never)]
fn in_image() {
    for _ in 0..50 {
        black_box(vec![1u8; 19]);
    }
}

fn main() {
    let mut arguments = std::env::args();
    let own = arguments.next().unwrap();
    if let Some(word) = arguments.next() {
        in_image();
        println!("image {word}");
        std::process::exit(3);
    }
    for clear in [false, true] {
        let mut command = Command::new(&own);
        command.arg(if clear { "without" } else { "with" });
        if clear {
            command.env_clear();
        }
        let output = command.output().unwrap();
        print!("{}", String::from_utf8_lossy(&output.stdout));
        println!("left with {:?}", output.status.code());
    }
    println!("missing: {}", Command::new("/nonexistent/program").spawn().is_err());
    println!("expect process=image site=in_image blocks=50 bytes=950 live=0");
}
