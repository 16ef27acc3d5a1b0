import { INITIAL, PENDING, type StepState } from '../../libs/saga/src/machine/saga-state.js';
import { stepOf } from '../fixtures/graph-of.js';
import { mayBegin } from './may-begin.js';

const STATES = {
  'to do': {},
  'in progress': { status: 'running' },
  done: { status: 'completed' },
  skipped: { status: 'skipped' },
  failed: { status: 'failed' },
  'optional, failed': { status: 'failed', continued: true },
  'lost, done': { status: 'completed', pruned: true },
  'lost, failed': { status: 'failed', pruned: true },
  'lost, undone': { status: 'compensated', pruned: true },
} satisfies Record<string, Partial<StepState>>;

const isBegunAfter = (join: 'all' | 'any', ...before: (keyof typeof STATES)[]) => {
  const after = before.map((_, n) => `s${n}`);
  const steps = new Map(before.map((state, n) => [`s${n}`, { ...PENDING, ...STATES[state] }]));
  return mayBegin({ ...INITIAL, steps }, stepOf('next', { after, join }) as never);
};

describe('the checker lets a step begin', () => {
  test.each([
    ['nothing', 'all', []],
    ['all', 'all', ['done', 'done']],
    ['all, or what was passed by', 'all', ['skipped', 'optional, failed']],
    ['the first of a join any', 'any', ['in progress', 'done']],
    ['all that is left of a join any', 'any', ['lost, failed', 'optional, failed']],
    ['what is left, though a loser is being undone', 'any', ['lost, undone', 'skipped']],
  ] as const)('after %s', (_, join, before) => {
    expect(isBegunAfter(join, ...before)).toBe(true);
  });

  test.each([
    ['one of all', 'all', ['done', 'in progress']],
    ['a failure', 'all', ['done', 'failed']],
    ['one that was passed by, while others of a join any go on', 'any', ['skipped', 'in progress']],
    ['an optional failure, while others of a join any go on', 'any', ['optional, failed', 'to do']],
    ['a loser of its join any', 'any', ['lost, done', 'to do']],
    ['losers of its join any only', 'any', ['lost, done', 'lost, failed']],
    ['the only one of a join any', 'any', ['in progress']],
  ] as const)('but not after %s', (_, join, before) => {
    expect(isBegunAfter(join, ...before)).toBe(false);
  });
});
