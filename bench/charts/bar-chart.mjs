import { number, spread } from '../report/format.mjs';
import { at, escaped, line, picture, scale, text } from './svg.mjs';

const [WIDTH, LEFT, RIGHT, TOP, ROW, GAP] = [760, 225, 150, 58, 18, 12];

/**
 * Bars from left to right, each with its median as a figure, and a whisker from the least to the most of its rounds.
 * @param bars [{ label, own, values: [{ name, median, min, max }] }]; a bar for each value, one below the other
 */
export function barChart({ title, unit, bars, logarithmic }) {
  const all = bars.flatMap(({ values }) => values).filter(({ median }) => median !== undefined);
  const place = scale(
    all.flatMap(({ min, max }) => [min, max]),
    WIDTH - LEFT - RIGHT,
    logarithmic,
  );
  let y = TOP;
  const parts = [text(12, 24, title, { of: 'title' }), text(12, 44, unit, { of: 'faint' })];
  for (const { label, own, values } of bars) {
    const height = ROW * values.length;
    parts.push(text(LEFT - 10, y + height / 2 + 4, label, { anchor: 'end' }));
    for (const [n, value] of values.entries())
      if (value.median !== undefined)
        parts.push(...barOf(value, n, { y: y + ROW * n, own, place, named: values.length > 1 }));
    y += height + GAP;
  }
  parts.push(line(LEFT, TOP - 6, LEFT, y - GAP + 6, 'axis'));
  return picture(WIDTH, y + 6, `${title}, ${unit}`, parts);
}

function barOf({ name, median, min, max }, n, { y, own, place, named }) {
  const [length, from, to] = [median, min, max].map((x) => Math.max(1, place(x)));
  const middle = y + ROW / 2;
  const figure = `${named ? `${name} ` : ''}${spread([min, median, max])}`;
  return [
    `<rect x="${LEFT}" y="${at(y + 2)}" width="${at(length)}" height="${ROW - 4}" class="${own ? 'own ' : ''}s${n}">` +
      `<title>${escaped(`${name}: ${number(median)}`)}</title></rect>`,
    ...(max > min ? [whisker(from, to, middle)] : []),
    text(LEFT + Math.max(length, to) + 8, middle + 4, figure),
  ];
}

function whisker(from, to, y) {
  const [a, b] = [at(LEFT + from), at(LEFT + to)];
  return `<path d="M${a} ${y - 4}v8M${a} ${y}H${b}M${b} ${y - 4}v8" class="whisker"/>`;
}
