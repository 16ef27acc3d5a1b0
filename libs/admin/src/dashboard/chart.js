import { h, svg } from './dom.js';
import { clock, count, duration } from './format.js';

const WIDTH = 560;
const HEIGHT = 170;
const LEFT = 48;
const BOTTOM = 22;

/**
 * Bars over time, each of several parts.
 * @param bars `{ from, parts: { [part]: number } }`; @param parts by name: the status that colours it, and its words
 */
export function bars(label, data, parts) {
  const most = Math.max(1, ...data.map(({ parts: values }) => sum(Object.values(values))));
  const width = (WIDTH - LEFT) / data.length;
  const drawn = data.flatMap(({ from, parts: values }, n) => {
    let y = HEIGHT - BOTTOM;
    const text = parts
      .filter(([part]) => values[part] > 0)
      .map(([part, , words]) => `${count(values[part])} ${words}`);
    return svg(
      'g',
      svg('title', `${clock(from)}: ${text.join(', ') || 'none'}`),
      svg('rect.hit', { x: LEFT + n * width, y: 0, width, height: HEIGHT - BOTTOM }),
      ...parts.map(([part, status]) => {
        const height = ((values[part] ?? 0) / most) * (HEIGHT - BOTTOM - 12);
        y -= height;
        return (
          height > 0 &&
          svg('rect.part', {
            'data-status': status,
            x: LEFT + n * width + 1,
            y,
            width: Math.max(1, width - 2),
            height,
          })
        );
      }),
    );
  });
  return figure(label, [axis(count(most)), drawn, times(data)], legend(parts));
}

/** Lines over time. @param lines pairs of a name and a status */
export function lines(label, data, series) {
  const most = Math.max(
    1,
    ...data.flatMap(({ values }) => Object.values(values).filter((value) => value !== undefined)),
  );
  const step = (WIDTH - LEFT) / data.length;
  const y = (value) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - 12);
  const drawn = series.map(([name, status, words]) => {
    const points = data.flatMap(({ values, from }, n) =>
      values[name] === undefined
        ? []
        : [{ x: LEFT + (n + 0.5) * step, y: y(values[name]), value: values[name], from }],
    );
    return svg(
      'g.line',
      { 'data-status': status },
      svg('polyline', { points: points.map(({ x, y: at }) => `${x},${at}`).join(' ') }),
      ...points.map((point) =>
        svg(
          'circle',
          { cx: point.x, cy: point.y, r: 3 },
          svg('title', `${clock(point.from)}: ${words} ${duration(point.value)}`),
        ),
      ),
    );
  });
  return figure(label, [axis(duration(most)), drawn, times(data)], legend(series));
}

function figure(label, drawing, key) {
  return h(
    'figure.chart',
    h('figcaption', label, key),
    svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label }, drawing),
  );
}

function axis(most) {
  return [
    svg('line.grid', { x1: LEFT, x2: WIDTH, y1: 12, y2: 12 }),
    svg('line.grid', { x1: LEFT, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    svg('text.tick', { x: LEFT - 6, y: 16, 'text-anchor': 'end' }, most),
    svg('text.tick', { x: LEFT - 6, y: HEIGHT - BOTTOM + 4, 'text-anchor': 'end' }, '0'),
  ];
}

function times(data) {
  const every = Math.ceil(data.length / 6);
  const width = (WIDTH - LEFT) / data.length;
  return data.map(
    ({ from }, n) => n % every === 0 && svg('text.tick', { x: LEFT + n * width, y: HEIGHT - 4 }, short(from)),
  );
}

function short(time) {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(
    undefined,
    today ? { hour: '2-digit', minute: '2-digit' } : { month: 'short', day: 'numeric', hour: '2-digit' },
  );
}

function legend(parts) {
  return h('span.legend', ...parts.map(([, status, words]) => h('span', { 'data-status': status }, words)));
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
