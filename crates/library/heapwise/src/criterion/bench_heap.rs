//! The trait for the version of Criterion that the module above has chosen.

use super::version::measurement::Measurement;
use super::version::{BatchSize, Bencher, BenchmarkGroup, Criterion};
use crate::bench::{Figures, Mode, count, count_batched, tell};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// One line for a benchmark with time and heap. For [`Criterion`], and for groups: [`HeapGroup`].
///
/// ```
/// # use criterion::Criterion;
/// # use heapwise::criterion::BenchHeap;
/// # use heapwise_installed as _;
/// fn words(c: &mut Criterion) {
///     c.bench_heap("words", || "a b c".split(' ').map(str::to_owned).collect::<Vec<_>>());
/// }
/// # words(&mut Criterion::default().configure_from_args());
/// ```
pub trait BenchHeap<M: Measurement> {
    /// As `bench_function` with `iter`: time by Criterion, and the heap in addition. What the routine returns is dropped as a
    /// part of the iteration, for both.
    ///
    /// ```
    /// # use criterion::Criterion;
    /// # use heapwise::criterion::BenchHeap;
    /// # use heapwise_installed as _;
    /// fn sum(c: &mut Criterion) {
    ///     c.bench_heap("sum", || (1..100u64).sum::<u64>());
    /// }
    /// # sum(&mut Criterion::default().configure_from_args());
    /// ```
    fn bench_heap<T>(&mut self, id: impl Into<String>, routine: impl FnMut() -> T) -> &mut Self;

    /// As `bench_function` with `iter_batched`: `setup` makes what the routine consumes. Neither `setup` nor the drop of the
    /// result is timed or counted.
    ///
    /// ```
    /// # use criterion::{BatchSize, Criterion};
    /// # use heapwise::criterion::BenchHeap;
    /// # use heapwise_installed as _;
    /// fn sort(c: &mut Criterion) {
    ///     let setup = || vec![3, 1, 2];
    ///     c.bench_heap_batched("sort", setup, |mut list| { list.sort(); list }, BatchSize::SmallInput);
    /// }
    /// # sort(&mut Criterion::default().configure_from_args());
    /// ```
    fn bench_heap_batched<I, T>(
        &mut self,
        id: impl Into<String>,
        setup: impl FnMut() -> I,
        routine: impl FnMut(I) -> T,
        size: BatchSize,
    ) -> &mut Self;

    /// As `benchmark_group`, but the group knows its name: Criterion's own group does not expose it, and the files of benchmarks
    /// need it.
    ///
    /// ```
    /// # use criterion::Criterion;
    /// # use heapwise::criterion::BenchHeap;
    /// # use heapwise_installed as _;
    /// fn boxes(c: &mut Criterion) {
    ///     let mut group = c.heap_group("boxes");
    ///     for size in [1usize, 10] {
    ///         group.bench_heap(size.to_string(), || vec![0u8; size].into_boxed_slice());
    ///     }
    /// }
    /// # boxes(&mut Criterion::default().configure_from_args());
    /// ```
    fn heap_group(&mut self, name: impl Into<String>) -> HeapGroup<'_, M>;
}

/// A group of Criterion's with heaps. It dereferences to the `BenchmarkGroup` inside.
///
/// ```
/// # use criterion::Criterion;
/// # use heapwise::criterion::BenchHeap;
/// # use heapwise_installed as _;
/// fn boxes(c: &mut Criterion) {
///     let mut group = c.heap_group("boxes");
///     group.sample_size(10);
///     group.bench_heap("small", || Box::new([0u8; 8]));
/// }
/// # boxes(&mut Criterion::default().configure_from_args());
/// ```
pub struct HeapGroup<'criterion, M: Measurement> {
    group: BenchmarkGroup<'criterion, M>,
    name: String,
}

impl<M: Measurement> HeapGroup<'_, M> {
    /// As `bench_heap` of [`BenchHeap`]; the id of the benchmark is that of the group, a slash, and this one.
    ///
    /// ```
    /// # use criterion::Criterion;
    /// # use heapwise::criterion::BenchHeap;
    /// # use heapwise_installed as _;
    /// fn list(c: &mut Criterion) {
    ///     c.heap_group("list").bench_heap("of three", || vec![1, 2, 3]);
    /// }
    /// # list(&mut Criterion::default().configure_from_args());
    /// ```
    pub fn bench_heap<T>(&mut self, id: impl Into<String>, mut routine: impl FnMut() -> T) -> &mut Self {
        let id = id.into();
        let mut heap = Heap::new(format!("{}/{id}", self.name));
        self.group.bench_function(id, |bencher| heap.iter(bencher, &mut routine));
        heap.tell();
        self
    }

    /// As `bench_heap_batched` of [`BenchHeap`].
    ///
    /// ```
    /// # use criterion::{BatchSize, Criterion};
    /// # use heapwise::criterion::BenchHeap;
    /// # use heapwise_installed as _;
    /// fn sort(c: &mut Criterion) {
    ///     let mut group = c.heap_group("sort");
    ///     let setup = || vec![3, 1, 2];
    ///     group.bench_heap_batched("stable", setup, |mut list| list.sort(), BatchSize::SmallInput);
    ///     group.bench_heap_batched("unstable", setup, |mut list| list.sort_unstable(), BatchSize::SmallInput);
    /// }
    /// # sort(&mut Criterion::default().configure_from_args());
    /// ```
    pub fn bench_heap_batched<I, T>(
        &mut self,
        id: impl Into<String>,
        mut setup: impl FnMut() -> I,
        mut routine: impl FnMut(I) -> T,
        size: BatchSize,
    ) -> &mut Self {
        let id = id.into();
        let mut heap = Heap::new(format!("{}/{id}", self.name));
        self.group.bench_function(id, |bencher| heap.iter_batched(bencher, &mut setup, &mut routine, size));
        heap.tell();
        self
    }

    /// As that of Criterion's groups, which comes with a summary.
    ///
    /// ```
    /// # use criterion::Criterion;
    /// # use heapwise::criterion::BenchHeap;
    /// # use heapwise_installed as _;
    /// fn list(c: &mut Criterion) {
    ///     let mut group = c.heap_group("list");
    ///     group.bench_heap("of three", || vec![1, 2, 3]);
    ///     group.finish();
    /// }
    /// # list(&mut Criterion::default().configure_from_args());
    /// ```
    pub fn finish(self) {
        self.group.finish();
    }
}

impl<'criterion, M: Measurement> Deref for HeapGroup<'criterion, M> {
    type Target = BenchmarkGroup<'criterion, M>;

    fn deref(&self) -> &Self::Target {
        &self.group
    }
}

impl<M: Measurement> DerefMut for HeapGroup<'_, M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.group
    }
}

impl<M: Measurement> fmt::Debug for HeapGroup<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeapGroup").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<M: Measurement + 'static> BenchHeap<M> for Criterion<M> {
    fn bench_heap<T>(&mut self, id: impl Into<String>, mut routine: impl FnMut() -> T) -> &mut Self {
        let mut heap = Heap::new(id.into());
        let id = heap.id.clone();
        self.bench_function(&id, |bencher| heap.iter(bencher, &mut routine));
        heap.tell();
        self
    }

    fn bench_heap_batched<I, T>(
        &mut self,
        id: impl Into<String>,
        mut setup: impl FnMut() -> I,
        mut routine: impl FnMut(I) -> T,
        size: BatchSize,
    ) -> &mut Self {
        let mut heap = Heap::new(id.into());
        let id = heap.id.clone();
        self.bench_function(&id, |bencher| heap.iter_batched(bencher, &mut setup, &mut routine, size));
        heap.tell();
        self
    }

    fn heap_group(&mut self, name: impl Into<String>) -> HeapGroup<'_, M> {
        let name = name.into();
        HeapGroup { group: self.benchmark_group(&name), name }
    }
}

/// The heap of one benchmark. Criterion calls its function many times, and the heap is measured the first time.
struct Heap {
    id: String,
    mode: Mode,
    figures: Option<Figures>,
}

impl Heap {
    fn new(id: String) -> Self {
        Self { id, mode: Mode::now(), figures: None }
    }

    fn iter<T, M: Measurement>(&mut self, bencher: &mut Bencher<'_, M>, routine: &mut impl FnMut() -> T) {
        if let (Mode::Measure { iterations }, None) = (self.mode, &self.figures) {
            self.figures = Some(count(iterations, &mut *routine));
        }
        bencher.iter(routine);
    }

    fn iter_batched<I, T, M: Measurement>(
        &mut self,
        bencher: &mut Bencher<'_, M>,
        setup: &mut impl FnMut() -> I,
        routine: &mut impl FnMut(I) -> T,
        size: BatchSize,
    ) {
        if let (Mode::Measure { iterations }, None) = (self.mode, &self.figures) {
            self.figures = Some(count_batched(iterations, &mut *setup, &mut *routine));
        }
        bencher.iter_batched(setup, routine, size);
    }

    /// Prints the line, after Criterion's. If the benchmark was filtered out, Criterion never called the function.
    fn tell(&self) {
        if let Some(figures) = &self.figures {
            tell(&self.id, figures);
        }
    }
}
