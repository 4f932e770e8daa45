//! Strongly connected components, by Tarjan's algorithm.

/// The circles of a graph with so many nodes: each as its nodes in order, those of one node left out.
pub(super) fn circles(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); nodes];
    edges.for_each(|(from, to)| next[from].push(to));
    let mut search = Search { next, index: vec![None; nodes], low: vec![0; nodes], ..Search::default() };
    for node in 0..nodes {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found.sort();
    search.found
}

#[derive(Default)]
struct Search {
    next: Vec<Vec<usize>>,
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    open: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn visit(&mut self, node: usize) {
        let index = self.count;
        self.count += 1;
        self.index[node] = Some(index);
        self.low[node] = index;
        self.open.push(node);
        for to in self.next[node].clone() {
            match self.index[to] {
                None => {
                    self.visit(to);
                    self.low[node] = self.low[node].min(self.low[to]);
                }
                Some(other) if self.open.contains(&to) => self.low[node] = self.low[node].min(other),
                Some(_) => {}
            }
        }
        if self.low[node] == index {
            let at = self.open.iter().position(|&open| open == node).expect("it was opened above");
            let mut circle = self.open.split_off(at);
            if circle.len() > 1 {
                circle.sort_unstable();
                self.found.push(circle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_reach_each_other_are_one_circle() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 6), (6, 5)];
        assert_eq!(circles(7, edges.into_iter()), [vec![0, 1, 2], vec![5, 6]]);
    }
}
