import { type Killer, specs, testsOf } from './mutant.js';

/** The simulation does not know of SQL: what a store has to do is written in its contract. */
export const CONTRACT = 'postgres-saga-store';

/** These tests of it first. */
export const contract = (tests: string): Killer[] => [testsOf(CONTRACT, tests), specs(CONTRACT)];
