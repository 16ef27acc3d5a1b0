import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import type { GraphReader, GraphStore, GraphWriter } from '../ports/graph-store.js';
import type { RunnableSaga } from '../ports/invoker.js';
import { agreeOnGraphs } from './agree-on-graphs.js';

const LOG = { debug() {}, log() {}, warn() {}, error() {} };

/** The graphs of a store, and the calls that read and write them. */
function counted() {
  const { graphs } = new MemorySagaStore();
  const calls: string[] = [];
  const noted = <T extends GraphReader>(to: T): T => ({
    ...to,
    stored: (sagas: never) => (calls.push('stored'), to.stored(sagas)),
    put: (graph: never) => (calls.push('put'), (to as unknown as GraphWriter).put(graph)),
  });
  const store = {
    stored: (sagas: never) => (calls.push('stored'), graphs.stored(sagas)),
    exclusively: (work: (writer: GraphWriter) => Promise<unknown>) =>
      graphs.exclusively((writer) => work(noted(writer))),
  } as Partial<GraphStore> as GraphStore;
  return { store, calls };
}

function sagas(count: number, ...steps: string[]): RunnableSaga[] {
  return Array.from({ length: count }, (_, n) => ({
    graph: { ...graphOf(...steps.map((name) => stepOf(name))), name: `saga-${n}` },
    invoke: async () => undefined,
  }));
}

test('a deployment reads the stored graphs twice, however many sagas it has, and writes those that differ', async () => {
  const { store, calls } = counted();
  const before = sagas(50, 'book');
  await agreeOnGraphs(before, store, 'error', LOG);
  expect(calls.filter((call) => call === 'put')).toHaveLength(50);
  expect(calls.filter((call) => call === 'stored')).toHaveLength(2);
  calls.length = 0;
  const [changed] = sagas(1, 'book', 'pay');
  await agreeOnGraphs([changed!, ...before.slice(1)], store, 'error', LOG);
  expect(calls).toEqual(['stored', 'stored', 'put']);
  calls.length = 0;
  await agreeOnGraphs([changed!, ...before.slice(1)], store, 'error', LOG);
  expect(calls).toEqual(['stored']);
});
