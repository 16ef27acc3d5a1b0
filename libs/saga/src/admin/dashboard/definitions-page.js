import { get } from './api.js';
import { h } from './dom.js';
import { duration, sagaName } from './format.js';
import { graph } from './graph.js';
import { pausedSteps, stepButton } from './paused-steps.js';
import { problem } from './problem.js';
import { toast } from './toast.js';

/** Shows the definitions of the sagas of this application. */
export async function definitionsPage(root, { params: [wanted], context, signal }) {
  root.append(h('h1', 'Definitions'));
  let definitions;
  try {
    definitions = await get('definitions', {}, signal);
  } catch (error) {
    if (!signal.aborted) root.append(problem(error));
    return;
  }
  if (definitions.length === 0) {
    root.append(h('p.empty', 'This application has no sagas.'));
    return;
  }
  const look = pausedSteps(root, { context, signal });
  const picked = definitions.find((one) => labelOf(one) === wanted) ?? definitions[0];
  root.append(
    h(
      'div.definitions',
      h(
        'nav',
        { 'aria-label': 'Definitions' },
        h(
          'ul',
          definitions.map((one) => h('li', link(one, picked))),
        ),
      ),
      definition(picked, (step) =>
        stepButton('pause', { saga: picked.name, step }, context, () => void look()),
      ),
    ),
  );
}

function labelOf({ name, version }) {
  return `${name}@${version}`;
}

function link(one, picked) {
  return h(
    'a.row',
    { href: `#/definitions/${encodeURIComponent(labelOf(one))}`, 'aria-current': one === picked && 'true' },
    sagaName(one.name),
    h('small', ` v${one.version}`),
  );
}

/** @param {(step: string) => Node} pauseButton */
function definition(saga, pauseButton) {
  const {
    name,
    version,
    timeout,
    onFailure,
    locked,
    lockMode,
    concurrency,
    concurrencyKeyed,
    rateLimit,
    steps,
    mermaid,
  } = saga;
  const facts = [
    timeout !== undefined && `within ${duration(timeout)}`,
    onFailure === 'suspend' && 'suspends on failure',
    locked && `one saga at a time per lock key${lockMode === 'reject' ? ', others are rejected' : ''}`,
    concurrency !== undefined && `${concurrency} at once${concurrencyKeyed ? ' per key' : ''}`,
    rateLimit &&
      `${rateLimit.count} begin per ${duration(rateLimit.per)}${rateLimit.keyed ? ', for each key' : ''}`,
  ].filter(Boolean);
  return h(
    'article',
    h('h2', sagaName(name), h('small', ` version ${version}`)),
    facts.length > 0 && h('p', facts.join(' · ')),
    h('div.canvas.panel', { tabindex: 0 }, graph(saga, { label: `The steps of ${name}` })),
    h(
      'div.scroll',
      { tabindex: 0 },
      h(
        'table.figures.steps',
        h(
          'thead',
          h(
            'tr',
            ['Step', 'Kind', 'Compensation', 'Attempts', 'Timeout', ''].map((head) =>
              h(head ? 'th' : 'td', head ? { scope: 'col' } : {}, head),
            ),
          ),
        ),
        h(
          'tbody',
          steps.map((step) => stepRow(step, pauseButton)),
        ),
      ),
    ),
    h(
      'details.json',
      h('summary', 'Mermaid'),
      h('button', { type: 'button', onclick: () => copy(mermaid) }, 'Copy'),
      h('pre', { tabindex: 0 }, mermaid),
    ),
  );
}

function stepRow(step, pauseButton) {
  const { name, compensation, retry, timeout } = step;
  return h(
    'tr',
    h('td', h('b', name)),
    h('td', whatItIs(step)),
    h('td', compensation ?? '–'),
    h('td.number', retry.attempts),
    h('td.number', timeout === undefined ? '–' : duration(timeout)),
    h('td.buttons', pauseButton(name)),
  );
}

function whatItIs({
  kind,
  child,
  handler,
  signal,
  conditional,
  onFailure,
  forEach,
  pivot,
  savepoint,
  transactional,
  idempotent,
  delay,
  sharedConcurrency: shared,
  rateLimit,
}) {
  const kinds = {
    step: undefined,
    'sub-saga': `saga ${child}`,
    remote: `handler ${handler?.name}`,
    signal: `waits for ${signal}`,
    approval: 'waits for approval',
  };
  return [
    kinds[kind],
    conditional && 'conditional',
    onFailure === 'continue' && 'optional',
    forEach && 'for each item',
    pivot && 'pivot',
    savepoint && 'savepoint',
    transactional && 'transactional',
    idempotent === false && 'at most once',
    delay && `after ${duration(delay)}`,
    shared && `${shared.count} at once in all sagas${shared.keyed ? ', for each key' : ''}`,
    rateLimit &&
      `${rateLimit.count} per ${duration(rateLimit.per)}${rateLimit.keyed ? ', for each key' : ''}`,
  ]
    .filter(Boolean)
    .join(', ');
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied.');
  } catch {
    toast('The browser does not allow this page to copy. Select the text and copy it.');
  }
}
