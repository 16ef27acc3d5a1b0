// What all charts are made of. Colours go by the reader's theme: text and lines are drawn in the current
// colour, which
// follows the system's where an image is shown by itself.

export const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const STYLE = `svg{color:#1f2328}@media (prefers-color-scheme:dark){svg{color:#e6edf3}}
text{fill:currentColor;font:12px system-ui,sans-serif}.title{font-size:15px;font-weight:600}.faint{opacity:.7}
.axis{stroke:currentColor;stroke-opacity:.25}.whisker{stroke:currentColor;stroke-opacity:.8;fill:none}
.s0{fill:#8b949e}.s1{fill:#8b949e;fill-opacity:.45}.own.s0{fill:#2f81f7}.own.s1{fill:#2f81f7;fill-opacity:.45}
.l0{stroke:#2f81f7;fill:none;stroke-width:2}.l1{stroke:#d29922;fill:none;stroke-width:2;stroke-dasharray:6 3}
.p0{fill:#2f81f7}.p1{fill:#d29922}`;

/** A whole picture. Screen readers read its title. */
export function picture(width, height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

export const text = (x, y, content, { anchor = 'start', of = '' } = {}) =>
  `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${of && ` class="${of}"`}>${escaped(content)}</text>`;

export const line = (x1, y1, x2, y2, of) =>
  `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" class="${of}"/>`;

export const at = (x) => Math.round(10 * x) / 10;

/** value => its place between 0 and length; of a logarithmic scale, the least value is a little above 0. */
export function scale(values, length, logarithmic = false) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!logarithmic) return (x) => (most > 0 ? (x / most) * length : 0);
  const [low, high] = [Math.log10(least / 2), Math.log10(most)];
  return (x) => ((Math.log10(x) - low) / (high - low)) * length;
}
