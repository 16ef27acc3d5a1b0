import { svg } from './dom.js';
import { words } from './format.js';

const LEAST_SCALE = 0.65;

/**
 * Draws a saga's graph in the layout of the server, colored by the status of each step.
 * @param {{ layout: any, steps: any[], edges: any[] }} drawing
 * @param {{ states?: Map<string, any>, onpick?: (name: string) => void, label: string }} about `states` has the status
 *   and the attempts of each step; none: a definition
 */
export function graph({ layout, steps, edges }, { states, onpick, label }) {
  const { width, height } = layout;
  const kinds = new Map(steps.map((step) => [step.name, step]));
  const joins = new Map(edges.map((edge) => [`${edge.from} ${edge.to}`, edge.join]));
  const drawing = svg(
    'svg.graph',
    { viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': label },
    svg(
      'defs',
      svg(
        'marker',
        {
          id: 'arrow',
          viewBox: '0 0 8 8',
          refX: 7,
          refY: 4,
          markerWidth: 7,
          markerHeight: 7,
          orient: 'auto',
        },
        svg('path', { d: 'M0 0 8 4 0 8z' }),
      ),
    ),
    ...layout.edges.map(({ from, to, points }) =>
      svg('path', {
        class: `edge${joins.get(`${from} ${to}`) === 'any' ? ' any' : ''}`,
        d: curve(points),
        'marker-end': 'url(#arrow)',
        'data-status': states?.get(from)?.status,
      }),
    ),
    ...layout.nodes.map((box) => node(box, kinds.get(box.name), states?.get(box.name), onpick)),
  );
  // On a small screen the graph shrinks to the smallest readable size, then scrolls.
  drawing.style.minWidth = `${width * LEAST_SCALE}px`;
  return drawing;
}

function node({ name, x, y, width, height }, step, state, onpick) {
  const status = state?.status ?? (onpick ? 'pending' : undefined);
  const second = state ? stateNote(state) : kindNote(step);
  const seen = [fit(name, width, 7.5), ...(second ? [fit(second, width, 5.8)] : [])];
  const picks = onpick && {
    onclick: () => onpick(name),
    onkeydown: (event) => onEnter(event, () => onpick(name)),
  };
  return svg(
    'g',
    {
      class: `node${step?.conditional ? ' conditional' : ''}${step?.pivot ? ' pivot' : ''}`,
      transform: `translate(${x} ${y})`,
      'data-status': status,
      'data-step': name,
      ...(picks && { tabindex: 0, role: 'button', 'data-key': `node ${name}`, ...picks }),
      // The accessible name begins with the visible text, for screen readers and speech control.
      'aria-label': [...seen, ...(seen[0] === name ? [] : [name])].join(' '),
    },
    svg(
      'title',
      [name, kindNote(step), step?.compensation && `compensation: ${step.compensation}`]
        .filter(Boolean)
        .join('\n'),
    ),
    svg('rect', { width, height, rx: 9 }),
    step?.forEach && svg('rect.stack', { x: 4, y: -4, width: width - 8, height: 4, rx: 2 }),
    svg('text.name', { x: width / 2, y: second ? 19 : 27 }, seen[0]),
    second && ' ',
    second && svg('text.note', { x: width / 2, y: 34 }, seen[1]),
  );
}

function onEnter(event, act) {
  if (event.key !== 'Enter' && event.key !== ' ') return;
  event.preventDefault();
  act();
}

function stateNote({ status, attempts, compensationAttempts }) {
  const tries = status.startsWith('compensat') ? compensationAttempts : attempts;
  const what = words(status);
  return `${what}${tries > 1 ? ` × ${tries}` : ''}`;
}

function kindNote(step) {
  if (!step) return '';
  return kindText(step) ?? (step.compensation ? `↩ ${step.compensation}` : step.pivot ? 'pivot' : '');
}

/** What a step waits for, or which saga or handler it runs. Undefined: it runs its own method. */
export function kindText({ kind, signal, child, handler }) {
  const kinds = {
    'sub-saga': `saga ${child ?? ''}`,
    remote: handler ? `handler ${handler.name}` : 'remote',
    signal: `waits for ${signal ?? 'a signal'}`,
    approval: 'waits for approval',
  };
  return kinds[kind];
}

/** Cuts a text, because text cannot be measured before it is drawn. @param wide the approximate pixels per character */
function fit(text, width, wide) {
  const most = Math.floor((width - 8) / wide);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Returns a path that is straight if possible, and curved between the layers otherwise. */
function curve([first, ...rest]) {
  let path = `M${first.x} ${first.y}`;
  let { x, y } = first;
  for (const [n, point] of rest.entries()) {
    const end = n === rest.length - 1 ? point.y - 3 : point.y;
    const middle = (y + end) / 2;
    path += x === point.x ? `L${point.x} ${end}` : `C${x} ${middle} ${point.x} ${middle} ${point.x} ${end}`;
    ({ x, y } = point);
  }
  return path;
}
