// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"image/color"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// plain takes Markdown out of a text.
func plain(text string) string { return strings.ReplaceAll(text, "*", "") }

// Ours and those of others are told apart by colour.
var (
	ours   = color.RGBA{R: 0xd0, G: 0x3b, B: 0x27, A: 0xff}
	others = color.RGBA{R: 0x33, G: 0x66, B: 0x99, A: 0xff}
)

// newPlot has a background of its own, so that it can be read on any page.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(8)
	p.BackgroundColor = color.White
	p.Add(plotter.NewGrid())
	return p
}

// timeTicks are those of a logarithmic axis of seconds.
type timeTicks struct{}

// Ticks implements plot.Ticker.
func (timeTicks) Ticks(least, most float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: -1}.Ticks(least, most)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = shortTime(t.Value)
		}
	}
	return ticks
}

// shortTime writes a power of ten of seconds.
func shortTime(seconds float64) string {
	return time.Duration(math.Round(seconds * 1e9)).String()
}

// dots shows a value with its interval for each of some names, the first on top.
type dots struct {
	title, axis string
	log, zero   bool
	names       []string
	values      []stats.Summary
}

func (c *dots) add(name string, s stats.Summary) {
	if s.N > 0 {
		c.names, c.values = append(c.names, name), append(c.values, s)
	}
}

func (c dots) width() vg.Length  { return 18 * vg.Centimeter }
func (c dots) height() vg.Length { return vg.Length(3+len(c.names)) * vg.Centimeter }

// isOurs tells by the name what fairlead is responsible for.
func isOurs(name string) bool {
	return strings.HasPrefix(name, "ours") || name == plain(works()[0][1]) || name == plain(works()[1][1])
}

func (c dots) plot() (*plot.Plot, error) {
	p := newPlot(c.title)
	p.X.Label.Text = c.axis
	ticks := make([]plot.Tick, len(c.names))
	for i, s := range c.values {
		y := float64(len(c.names) - 1 - i)
		ticks[i] = plot.Tick{Value: y, Label: c.names[i]}
		if err := addDot(p, s, y, isOurs(c.names[i])); err != nil {
			return nil, err
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = -0.5, float64(len(c.names))-0.5
	if c.zero {
		p.X.Min = 0
	}
	if c.log {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, timeTicks{}
		p.X.Min, p.X.Max = p.X.Min/1.5, p.X.Max*1.5
	}
	return p, nil
}

// point is one point with its error, as the plotting library wants them.
type point struct {
	plotter.XYs
	plotter.XErrors
}

func addDot(p *plot.Plot, s stats.Summary, y float64, isOurs bool) error {
	at := point{plotter.XYs{{X: s.Median, Y: y}}, plotter.XErrors{{Low: s.Low - s.Median, High: s.High - s.Median}}}
	dot, err := plotter.NewScatter(at)
	if err != nil {
		return err
	}
	bars, err := plotter.NewXErrorBars(at)
	if err != nil {
		return err
	}
	dot.Shape, dot.Radius, dot.Color = draw.CircleGlyph{}, vg.Points(4), others
	if isOurs {
		dot.Color = ours
	}
	bars.Color, bars.Width = dot.Color, vg.Points(1.5)
	p.Add(bars, dot)
	return nil
}

// lines shows how times grow, on logarithmic axes: what is linear rises like the diagonal.
type lines struct {
	title, x, y string
	names       []string
	points      []plotter.XYs
}

func (c *lines) add(name string, g growth, r *micro.Result) {
	sizes, times := g.points(r)
	if len(sizes) == 0 {
		return
	}
	points := make(plotter.XYs, len(sizes))
	for i := range sizes {
		points[i] = plotter.XY{X: sizes[i], Y: times[i] / 1e9}
	}
	c.names, c.points = append(c.names, name), append(c.points, points)
}

func (c lines) width() vg.Length  { return 18 * vg.Centimeter }
func (c lines) height() vg.Length { return 11 * vg.Centimeter }

func (c lines) plot() (*plot.Plot, error) {
	if len(c.points) == 0 {
		return nil, errors.New("nothing to draw")
	}
	p := newPlot(c.title)
	p.X.Label.Text, p.Y.Label.Text = c.x, c.y
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, timeTicks{}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	for i, points := range c.points {
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
		line.Width, dots.Shape = vg.Points(1.5), plotutil.Shape(i)
		p.Add(line, dots)
		p.Legend.Add(c.names[i], line, dots)
	}
	return p, nil
}
