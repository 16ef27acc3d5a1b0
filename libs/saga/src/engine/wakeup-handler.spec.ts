import { WakeupHandler, type WakeupHandlerPorts } from './wakeup-handler.js';

/** What each tick asks the database. */
function askedByTicks(listening: boolean, ticks: number): string[] {
  const asked: string[] = [];
  let tick = 0;
  const ask = (what: string) => () => void asked.push(`${what} ${tick}`);
  const ports = {
    wakeup: { listening },
    worker: { claim: async () => ask('claim')(), isRunning: true },
    waiters: { waitsForOthers: false },
    pauses: { look: ask('pauses') },
    overdue: { look: () => undefined },
    slots: { look: () => undefined },
  };
  const handler = new WakeupHandler(ports as unknown as WakeupHandlerPorts);
  for (tick = 1; tick <= ticks; tick += 1) handler.tick();
  return asked;
}

describe('the poll of a process with nothing to do', () => {
  it('asks its questions at different times while hints arrive, so that a failover is noticed in between', () => {
    expect(askedByTicks(true, 10)).toEqual(['pauses 2', 'claim 5', 'pauses 7', 'claim 10']);
  });

  it('asks all of them with each tick while no hints arrive', () => {
    expect(askedByTicks(false, 2)).toEqual(['pauses 1', 'claim 1', 'pauses 2', 'claim 2']);
  });
});
