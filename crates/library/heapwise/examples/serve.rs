//! A program that serves its own heap profile: `cargo run --release -p heapwise --features serve --example serve`, and then, elsewhere,
//! `go tool pprof -top http://127.0.0.1:6061/debug/pprof/heap`.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

#[cfg(feature = "serve")]
fn main() -> std::io::Result<()> {
    let server = heapwise::serve::start("127.0.0.1:6061")?;
    println!("http://{}/debug/pprof/heap", server.address());
    let mut cache = std::collections::HashMap::new();
    for request in 0u64.. {
        let answer = format!("the answer to request {request}").repeat(1 + request as usize % 50);
        // It forgets too little.
        if request % 100 == 0 {
            cache.insert(request, answer);
        }
        if request % 1000 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    Ok(())
}

#[cfg(not(feature = "serve"))]
fn main() {
    println!("it needs --features serve");
}
