import type { LayerSubject } from '../layers/layer.js';
import { describeCalls } from './calls.contract.js';
import { describeConnections } from './connections.contract.js';
import { LayerApps } from './layer-apps.js';
import { describeSteps } from './steps.contract.js';
import { describeTransactions } from './transactions.contract.js';

/** What each adapter of a database layer keeps to. */
export function describeDatabase(subject: LayerSubject): void {
  describe(`the database of ${subject.name}`, () => {
    const apps = LayerApps.of(subject);
    describeCalls(apps);
    describeSteps(apps);
    describeConnections(apps);
    describeTransactions(apps);
  });
}
