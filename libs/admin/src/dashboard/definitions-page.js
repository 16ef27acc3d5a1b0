import { get } from './api.js';
import { toast } from './dialog.js';
import { h } from './dom.js';
import { duration, sagaName } from './format.js';
import { graph, kindText } from './graph.js';
import { pausedSteps, stepButton } from './paused-steps.js';
import { problem } from './problem.js';
import { wideTable } from './table.js';

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
        h('ul', ...definitions.map((one) => h('li', link(one, picked)))),
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
  const { name, version, timeout, onFailure, locked, lockMode, steps, mermaid } = saga;
  const { limit, rateLimit } = saga;
  const facts = [
    timeout !== undefined && `within ${duration(timeout)}`,
    onFailure === 'suspend' && 'suspends on failure',
    locked && `one saga at a time per lock key${lockMode === 'reject' ? ', others are rejected' : ''}`,
    limit && `${limit.count} at once${limit.keyed ? ' per key' : ''}`,
    rateLimit &&
      `${rateLimit.count} begin per ${duration(rateLimit.per)}${rateLimit.keyed ? ', for each key' : ''}`,
  ].filter(Boolean);
  return h(
    'article',
    h('h2', sagaName(name), h('small', ` version ${version}`)),
    facts.length > 0 && h('p', facts.join(' · ')),
    h('div.canvas.panel', { tabindex: 0 }, graph(saga, { label: `The steps of ${name}` })),
    wideTable(
      'figures.steps',
      ['Step', 'Kind', 'Compensation', 'Attempts', 'Timeout', ''],
      steps.map((step) => stepRow(step, pauseButton)),
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

function whatItIs(step) {
  const { delay, limit, rateLimit } = step;
  return [
    kindText(step),
    step.conditional && 'conditional',
    step.onFailure === 'continue' && 'optional',
    step.forEach && 'for each item',
    step.pivot && 'pivot',
    step.savepoint && 'savepoint',
    step.transactional && 'transactional',
    step.idempotent === false && 'at most once',
    delay && `after ${duration(delay)}`,
    limit && `${limit.count} at once in all sagas${limit.keyed ? ', for each key' : ''}`,
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
