//! Line charts as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 140.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 10] = [
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf",
    "#7f7f7f", "#000000",
];

/// A line with a name.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What a chart says besides its lines.
pub struct Chart<'a> {
    pub title: &'a str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
}

/// One axis, from its first tick to its last.
pub struct Axis<'a> {
    pub label: &'a str,
    pub ticks: &'a [f64],
    pub is_logarithmic: bool,
}

impl Axis<'_> {
    /// Where a value stands between the first tick (0) and the last (1).
    fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| match self.is_logarithmic {
            true => value.max(f64::MIN_POSITIVE).ln(),
            false => value,
        };
        let (first, last) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        (scale(value.clamp(first, last)) - scale(first)) / (scale(last) - scale(first))
    }
}

/// Draws it. Values beyond the ticks are drawn at the edge.
pub fn draw(chart: &Chart<'_>, series: &[Series]) -> String {
    let x = |value: f64| LEFT + chart.x.place(value) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - chart.y.place(value) * (HEIGHT - TOP - BOTTOM);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n")
    };
    let above = format!("{} {}", chart.y.label, chart.title);
    svg += &text(LEFT - 50.0, TOP - 12.0, "start", above.trim());
    svg += &text((LEFT + right) / 2.0, HEIGHT - 12.0, "middle", chart.x.label);
    for &tick in chart.x.ticks {
        svg += &line((x(tick), TOP), (x(tick), bottom));
        svg += &text(x(tick), bottom + 16.0, "middle", &tick.to_string());
    }
    for &tick in chart.y.ticks {
        svg += &line((LEFT, y(tick)), (right, y(tick)));
        svg += &text(LEFT - 6.0, y(tick) + 4.0, "end", &tick.to_string());
    }
    for (index, line) in series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let points: Vec<_> = line
            .points
            .iter()
            .map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b)))
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{}\"/>",
            points.join(" ")
        );
        let height = TOP + 16.0 * (index as f64 + 1.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"3\" fill=\"{colour}\"/>",
            right + 12.0,
            height - 5.0
        );
        svg += &text(right + 30.0, height, "start", &line.name);
    }
    svg + "</svg>\n"
}

fn line(from: (f64, f64), to: (f64, f64)) -> String {
    format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>\n",
        from.0, from.1, to.0, to.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_between_the_ticks() {
        let axis = Axis {
            label: "",
            ticks: &[1.0, 10.0, 100.0],
            is_logarithmic: true,
        };
        assert!((axis.place(10.0) - 0.5).abs() < 1e-9);
        assert_eq!((axis.place(0.0), axis.place(1e9)), (0.0, 1.0));
    }
}
