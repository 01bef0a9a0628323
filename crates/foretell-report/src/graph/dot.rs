//! Graphs in the language of Graphviz.

use std::io::{self, Write};

use super::{Edge, Graph};

pub(super) fn write(out: &mut dyn Write, graphs: &[Graph]) -> io::Result<()> {
    writeln!(out, "digraph foretell {{")?;
    writeln!(out, "  rankdir=TB; compound=true; fontname=\"sans-serif\";")?;
    writeln!(out, "  node [shape=box, fontname=\"monospace\", fontsize=11];")?;
    for (g, graph) in graphs.iter().enumerate() {
        write_graph(out, g, graph)?;
    }
    writeln!(out, "}}")
}

fn write_graph(out: &mut dyn Write, g: usize, graph: &Graph) -> io::Result<()> {
    writeln!(out, "  subgraph cluster_{g} {{")?;
    writeln!(out, "    label={}; labeljust=l;", quoted(&format!("{}: {}", graph.id, graph.title)))?;
    for (t, (thread, name)) in graph.threads.iter().enumerate() {
        writeln!(out, "    subgraph cluster_{g}_{t} {{")?;
        writeln!(out, "      label={}; style=dotted;", quoted(name))?;
        for (i, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.thread == *thread) {
            let text = format!("{}  {}\\n{}", node.step, node.text, node.location);
            let style = match (node.main, node.blocked) {
                (_, true) => ", color=\"#b3261e\", style=dashed",
                (true, false) => ", color=\"#b3261e\", penwidth=2",
                (false, false) => "",
            };
            writeln!(out, "      n{g}_{i} [label={}{style}];", quoted(&text))?;
        }
        writeln!(out, "    }}")?;
    }
    for &(a, b, edge) in &graph.edges {
        writeln!(out, "    n{g}_{a} -> n{g}_{b} [{}];", style(edge))?;
    }
    writeln!(out, "  }}")
}

fn style(edge: Edge) -> &'static str {
    match edge {
        Edge::Order => "color=gray60",
        Edge::Conflict => "color=\"#b3261e\", style=dashed, constraint=false, label=conflict",
        Edge::ReadsFrom => "color=\"#1b62b5\", constraint=false, label=\"reads from\"",
        Edge::HandOver => {
            "color=\"#2b7a3f\", style=dotted, constraint=false, label=\"lock hand-over\""
        }
        Edge::Waits => "color=\"#b3261e\", style=dashed, constraint=false, label=\"waits for\"",
    }
}

/// A string of the language; `\n` is its line break.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace("\\\\n", "\\n").replace('"', "\\\"");
    format!("\"{text}\"")
}
