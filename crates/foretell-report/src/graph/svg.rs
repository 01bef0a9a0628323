//! Graphs as pictures: a lane for each thread, steps from top to bottom.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::{Edge, Graph, Node};

/// Width of a character of the monospaced font, in pixels.
const CHAR: usize = 8;
const ROW: usize = 46;
const BOX: usize = 34;
const GAP: usize = 70;
const MARGIN: usize = 20;
const HEAD: usize = 76;
const LEGEND: usize = 34;

/// Colours that can be read on white and on dark.
const STYLE: &str = "\
text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1d2126}\
.title{font-weight:bold}.quiet{fill:#5d6670;font-size:11px}\
rect.sheet{fill:#fff}rect.node{fill:#f6f7f6;stroke:#9aa4ae}\
rect.main{fill:#fdecea;stroke:#b3261e;stroke-width:2}rect.blocked{stroke-dasharray:5 3}\
.lane{stroke:#d9dcde}path{fill:none;stroke-width:1.6}\
.order{stroke:#9aa4ae}.conflict,.waits{stroke:#b3261e;stroke-dasharray:6 3}\
.from{stroke:#1b62b5}.hand{stroke:#2b7a3f;stroke-dasharray:2 3}";

pub(super) fn write(out: &mut dyn Write, graphs: &[Graph]) -> io::Result<()> {
    let layouts: Vec<Layout<'_>> = graphs.iter().map(Layout::new).collect();
    let width = layouts.iter().map(|l| l.width).max().unwrap_or(200);
    let height: usize = layouts.iter().map(|l| l.height).sum::<usize>().max(40);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">"
    )?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<defs>")?;
    for (class, color) in [
        ("order", "#9aa4ae"),
        ("conflict", "#b3261e"),
        ("waits", "#b3261e"),
        ("from", "#1b62b5"),
        ("hand", "#2b7a3f"),
    ] {
        writeln!(
            out,
            "<marker id=\"{class}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0,0L8,4L0,8z\" style=\"fill:{color};stroke:none\"/></marker>"
        )?;
    }
    writeln!(out, "</defs>\n<rect class=\"sheet\" width=\"{width}\" height=\"{height}\"/>")?;
    let mut top = 0;
    for layout in &layouts {
        writeln!(out, "<g transform=\"translate(0 {top})\">")?;
        layout.write(out)?;
        writeln!(out, "</g>")?;
        top += layout.height;
    }
    writeln!(out, "</svg>")
}

/// Coordinates of the parts of a graph.
struct Layout<'a> {
    graph: &'a Graph,
    title: Vec<String>,
    head: usize,
    /// The left edge and the width of each thread's lane.
    lanes: Vec<(usize, usize)>,
    width: usize,
    height: usize,
}

impl<'a> Layout<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut lanes = Vec::new();
        let mut left = MARGIN;
        for (thread, name) in &graph.threads {
            let nodes = graph.nodes.iter().filter(|n| n.thread == *thread);
            let texts = nodes.map(|n| label(n).width().max(n.location.width()));
            let chars = texts.chain([name.width()]).max().unwrap_or(4).min(44);
            let width = chars * CHAR + 16;
            lanes.push((left, width));
            left += width + GAP;
        }
        let width = (left - GAP + MARGIN).max(520);
        let title = wrapped(&format!("{}: {}", graph.id, graph.title), (width - 2 * MARGIN) / CHAR);
        let head = HEAD + 18 * title.len().saturating_sub(1);
        let height = head + graph.nodes.len() * ROW + LEGEND + MARGIN;
        Layout { graph, title, head, lanes, width, height }
    }

    fn corner(&self, node: usize) -> (usize, usize, usize) {
        let thread = self.graph.nodes[node].thread;
        let lane = self.graph.threads.iter().position(|(t, _)| *t == thread).unwrap_or(0);
        let (left, width) = self.lanes[lane];
        (left, self.head + node * ROW, width)
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (i, line) in self.title.iter().enumerate() {
            let y = 28 + 18 * i;
            writeln!(
                out,
                "<text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
                escaped(line)
            )?;
        }
        let end = self.head + self.graph.nodes.len() * ROW;
        for ((left, width), (_, name)) in self.lanes.iter().zip(&self.graph.threads) {
            let (x, y) = (left + width / 2, self.head - 14);
            writeln!(out, "<text x=\"{left}\" y=\"{y}\">{}</text>", escaped(&clipped(name)))?;
            writeln!(
                out,
                "<line class=\"lane\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{end}\"/>",
                self.head - 8
            )?;
        }
        for &(a, b, edge) in &self.graph.edges {
            if edge != Edge::Order {
                let (class, path) = (class(edge), self.path(a, b, edge));
                writeln!(
                    out,
                    "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#{class})\"/>"
                )?;
            }
        }
        for (i, node) in self.graph.nodes.iter().enumerate() {
            self.node(out, i, node)?;
        }
        self.legend(out, end)
    }

    fn node(&self, out: &mut dyn Write, i: usize, node: &Node) -> io::Result<()> {
        let (x, y, width) = self.corner(i);
        let class = match (node.main, node.blocked) {
            (true, true) => "node main blocked",
            (true, false) => "node main",
            _ => "node",
        };
        writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX}\" rx=\"4\"/>"
        )?;
        let text = escaped(&clipped(&label(node)));
        writeln!(out, "<text x=\"{}\" y=\"{}\">{text}</text>", x + 8, y + 15)?;
        let location = escaped(&clipped(&node.location));
        writeln!(out, "<text class=\"quiet\" x=\"{}\" y=\"{}\">{location}</text>", x + 8, y + 29)
    }

    /// A curve from the side of one box to the side of the other.
    fn path(&self, a: usize, b: usize, edge: Edge) -> String {
        let ((ax, ay, aw), (bx, by, bw)) = (self.corner(a), self.corner(b));
        let lift = match edge {
            Edge::HandOver => BOX * 3 / 4,
            Edge::ReadsFrom => BOX / 3,
            _ => BOX / 2,
        };
        let (x1, x2, bend) = match ax < bx {
            true => (ax + aw, bx, GAP as i64 / 2),
            false => (ax, bx + bw, -(GAP as i64) / 2),
        };
        let (y1, y2) = (ay + lift, by + lift);
        format!("M{x1},{y1} C{},{y1} {},{y2} {x2},{y2}", x1 as i64 + bend, x2 as i64 - bend)
    }

    fn legend(&self, out: &mut dyn Write, top: usize) -> io::Result<()> {
        let mut x = MARGIN;
        let y = top + 20;
        for (edge, text) in [
            (Edge::Conflict, "conflict"),
            (Edge::ReadsFrom, "reads from"),
            (Edge::HandOver, "lock hand-over"),
            (Edge::Waits, "waits for"),
        ] {
            if !self.graph.edges.iter().any(|&(_, _, e)| e == edge) {
                continue;
            }
            let class = class(edge);
            writeln!(
                out,
                "<path class=\"{class}\" d=\"M{x},{y} L{},{y}\" marker-end=\"url(#{class})\"/>",
                x + 36
            )?;
            writeln!(out, "<text class=\"quiet\" x=\"{}\" y=\"{}\">{text}</text>", x + 44, y + 4)?;
            x += 44 + (text.len() + 3) * CHAR;
        }
        Ok(())
    }
}

fn label(node: &Node) -> String {
    let waits = if node.blocked { " blocked" } else { "" };
    format!("{}  {}{waits}", node.step, node.text)
}

fn class(edge: Edge) -> &'static str {
    match edge {
        Edge::Order => "order",
        Edge::Conflict => "conflict",
        Edge::ReadsFrom => "from",
        Edge::HandOver => "hand",
        Edge::Waits => "waits",
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(44) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].width() + 1 + word.width() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !lines[last].is_empty() {
            lines[last].push(' ');
        }
        lines[last].push_str(word);
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
