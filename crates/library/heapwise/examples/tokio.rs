//! Counts what tasks allocate that share their threads with others: `cargo run -p heapwise --example tokio`

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Works in small steps, so that tasks take turns on a thread, and go on on others.
async fn answer(request: usize, bytes: usize) -> usize {
    let mut parts = Vec::with_capacity(4);
    for part in 0..4 {
        parts.push(vec![request as u8; bytes]);
        tokio::task::yield_now().await;
        assert_eq!(parts.len(), part + 1);
    }
    parts.iter().map(Vec::len).sum()
}

fn main() {
    let session = heapwise::Session::new();
    let (small, large) = (session.operation("small answers"), session.operation("large answers"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    let bytes: usize = runtime.block_on(async {
        let mut tasks = Vec::new();
        for request in 0..100 {
            tasks.push(tokio::spawn(small.measure(answer(request, 100))));
            tasks.push(tokio::spawn(large.measure(answer(request, 10_000))));
        }
        let mut sum = 0;
        for task in tasks {
            sum += task.await.expect("no task panics");
        }
        sum
    });
    assert_eq!(bytes, 100 * 4 * (100 + 10_000));
    session.print_to_stdout();
}
