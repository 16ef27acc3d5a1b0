import { number } from '../report/format.mjs';
import { at, escaped, line, picture, scale, text } from './svg.mjs';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 340, 60, 90, 84, 52];

/**
 * Lines over points that are evenly apart, whatever their values: each with its median as a figure, and a whisker from
 * the least to the most of its rounds.
 * @param points [{ label, values: [{ name, median, min, max }] }], the same names at each
 */
export function lineChart({ title, unit, across, points, logarithmic }) {
  const known = points.flatMap(({ values }) => values).filter(({ median }) => median !== undefined);
  const height = HEIGHT - TOP - BOTTOM;
  const place = scale(
    known.flatMap(({ min, max }) => [min, max]),
    height,
    logarithmic,
  );
  const x = (n) => LEFT + ((n + 0.5) * (WIDTH - LEFT - RIGHT)) / points.length;
  const y = (value) => TOP + height - place(value);
  const names = points[0].values.map(({ name }) => name);
  return picture(WIDTH, HEIGHT, `${title}, ${unit}`, [
    text(12, 24, title, { of: 'title' }),
    text(12, 44, unit, { of: 'faint' }),
    line(LEFT, TOP + height, WIDTH - RIGHT, TOP + height, 'axis'),
    ...points.map(({ label }, n) => text(x(n), TOP + height + 20, label, { anchor: 'middle' })),
    text(WIDTH - RIGHT + 8, TOP + height + 20, across, { of: 'faint' }),
    ...names.flatMap((name, series) =>
      seriesOf(name, series, { points, x, y, below: names.length > 1 && series === 0 }),
    ),
    ...legend(points, y),
  ]);
}

/** Each line's name, beside where it ends; two that end in one place are kept apart. */
function legend(points, y) {
  const ends = points
    .at(-1)
    .values.filter(({ median }) => median !== undefined)
    .map(({ name, median }) => ({ name, y: y(median) + 4 }))
    .sort((a, b) => a.y - b.y);
  for (const [n, end] of ends.entries()) if (n > 0) end.y = Math.max(end.y, ends[n - 1].y + 16);
  return ends.map((end) => text(WIDTH - RIGHT + 8, end.y, end.name));
}

/** @param below whether its figures are, as far as there is room above the axis */
function seriesOf(name, series, { points, x, y, below }) {
  const there = points
    .map(({ values }, n) => ({ x: x(n), ...values[series] }))
    .filter(({ median }) => median !== undefined);
  const path = there.map((p, n) => `${n === 0 ? 'M' : 'L'}${at(p.x)} ${at(y(p.median))}`).join('');
  const figureAt = ({ min, max }) => {
    const under = y(min) + 18;
    return below && under < HEIGHT - BOTTOM - 4 ? under : y(max) - 9;
  };
  return [
    ...there.filter(({ min, max }) => max > min).map((p) => whisker(p, y)),
    `<path d="${path}" class="l${series}"/>`,
    ...there.flatMap((p) => [
      `<circle cx="${at(p.x)}" cy="${at(y(p.median))}" r="3.5" class="p${series}">` +
        `<title>${escaped(`${name}: ${number(p.median)}`)}</title></circle>`,
      text(p.x, figureAt(p), number(p.median), { anchor: 'middle' }),
    ]),
  ];
}

function whisker({ x, min, max }, y) {
  const [low, high] = [at(y(min)), at(y(max))];
  return `<path d="M${at(x - 4)} ${low}h8M${at(x)} ${low}V${high}M${at(x - 4)} ${high}h8" class="whisker"/>`;
}
