import type { Feature } from '../contract/features.js';
import { describeSagaStore } from '../contract/saga-store.contract.js';
import { restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { restateSubject } from './restate-subject.js';

/** What Restate does not keep yet. */
const REFUSED: readonly Feature[] = [
  ...(['cancellations that roll back', 'an outbox of its own', 'announcements of free slots'] as const),
  ...(['turns of keys', 'starts that take their place at the commit'] as const),
  ...(['the time of the next due saga', 'a clock set back', 'failovers', 'answers of bounded size'] as const),
];
const program = restateProgram();

if (program) describeSagaStore('RestateSagaStore', () => restateSubject(program, { isExact: true }), REFUSED);
else test.skip('There is no Restate server for this platform on npm', () => undefined);
