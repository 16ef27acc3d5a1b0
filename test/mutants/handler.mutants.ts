import { type Mutant, specs } from './mutant.js';

/** Mutants of the parts that only remote steps have, and sub-sagas do not. */
const killers = [specs('handler-calls', 'machine/sub-sagas'), specs('sagas/remote-steps')];

export const HANDLER_MUTANTS: readonly Mutant[] = [
  {
    name: 'give a remote step the results of the saga in which its handler ran',
    find: ': handlerResult(handler, child)',
    replace: ': resultsText(child.state)',
    killers,
  },
  {
    name: 'tell a handler the saga in which it runs, instead of the one that asks',
    find: 'const own = Object.entries({ sagaId, correlationId, step, input });',
    replace: 'const own = Object.entries({ correlationId, step, input });\n  void sagaId;',
    killers,
  },
  {
    name: 'take a rejection by a handler for an error',
    find: 'return { kind: failure.kind, error: failure.error };',
    replace: 'return { error: failure.error };',
    killers,
  },
  {
    name: 'take a rejection by a handler for an error (in the machine)',
    find: "const { kind = 'error', now } = event;",
    replace: "const { kind = 'error', now } = { now: event.now } as typeof event;",
    killers,
  },
  {
    name: 'withdraw a call of a handler that a worker holds',
    in: 'withdrawEdit',
    find: ' || saga.lockedBy !== undefined',
    replace: '',
    killers,
  },
  {
    name: 'withdraw a call of a handler that may have been made',
    find: 'attempts === 0 && !unknown',
    replace: 'attempts >= 0 || unknown',
    killers,
  },
  {
    name: 'wait for a process with the handler to withdraw a call that no worker has taken',
    find: 'withdrawEdit(saga, reason) ?? requestCancelEdit',
    replace: 'requestCancelEdit',
    killers: [specs('sagas/remote-steps')],
  },
  {
    name: 'undo a handler only where it is known',
    in: 'RunChildren.undo',
    find: 'graph ?? graphUnknownHere(saga)',
    replace: 'graph',
    killers: [specs('sagas/remote-steps')],
  },
];
