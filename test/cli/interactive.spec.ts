import type { Terminal } from '../../libs/cli/src/terminal.js';
import { TestApps } from '../support/test-app.js';
import { order, PlaceOrder, ran, shop } from './support/orders.js';
import { sagaHere } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();

/** A user at a terminal who gives this answer to every question. */
async function typed(words: string, answer: string, more: Partial<Terminal> = {}) {
  const asked: string[] = [];
  const ended = await sagaHere(words.split(' '), {
    ask: async (question) => (asked.push(question), answer),
    interactive: true,
    environment: { DATABASE_URL: apps.url, USER: 'ann' },
    ...more,
  });
  return { ...ended, asked };
}

describe('in a terminal', () => {
  test('cancel shows what it would undo, and asks', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const done = ran.length;
    const undecided = await typed(`undo ${id}`, '');
    expect(undecided).toMatchObject({
      code: 1,
      error: 'Nothing was changed\n',
      asked: ['Undo the saga? [y/N] '],
    });
    expect(undecided.out).toMatch(
      /place-order@1 {2}\S+ {2}stuck\n[^]*These steps would be compensated, in this order:\n {2}reserve, by release\n/,
    );
    expect((await sagas.get(id)).status).toBe('stuck');
    expect(ran).toHaveLength(done);
  });

  test('abort acts after a yes, on the saga as it was shown', async () => {
    const { sagas, operations } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const meanwhile = await typed(`abort ${id}`, 'y', {
      ask: async () => {
        await operations.resolve(id, 'reserve');
        await sagas.wait(id);
        return 'y';
      },
    });
    expect(meanwhile).toMatchObject({ code: 1, error: expect.stringContaining('SAGA_STATE') });
    expect((await sagas.get(id)).status).toBe('compensated');
    const other = await order(sagas, 'order-2', 'ship', 'release');
    expect(await typed(`abort ${other}`, 'yes')).toMatchObject({
      code: 0,
      asked: ['Abort the saga? [y/N] '],
    });
    expect((await sagas.get(other)).status).toBe('aborted');
  });

  test('a call by --where counts, names a few, and asks', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const { out, asked, code } = await typed('retry --where status=stuck', 'n');
    expect([code, asked]).toEqual([1, ['Retry all of them? [y/N] ']]);
    expect(out).toMatch(new RegExp(`^1 saga\\n {2}${id} {2}place-order/order-1 {2}stuck\\n$`));
  });

  test('what does no harm does not ask', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    expect(await typed(`retry ${id}`, 'n')).toMatchObject({ code: 0, asked: [] });
  });

  test('lists fit the width, and statuses have their colors', async () => {
    const { sagas } = await shop(apps);
    await order(sagas, 'order-1', 'ship', 'release');
    const { out } = await typed('list', '', { columns: 60 });
    for (const line of out.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(60);
    expect((await typed('list', '', { colors: true })).out).toContain('\x1b[31mstuck\x1b[39m');
  });

  test('watch draws the saga anew in its place, until it is settled', async () => {
    const { sagas } = await shop(apps);
    const { id } = await sagas.start(PlaceOrder, { sku: 'cup' }, { delay: '1h' });
    let out = '';
    const isDue = `UPDATE saga.instance SET starts_at = NULL, due_at = now(), rank_at = now() WHERE id = $1`;
    const { code } = await typed(`watch ${id} --interval 20ms`, '', {
      write: (text) => (out += text),
      out: (text) => {
        // What it waits for comes once that has been drawn.
        if (out === '') void apps.sql(isDue, [id]);
        out += `${text}\n`;
      },
    });
    expect(code).toBe(0);
    const pages = out.split('\x1b[0J');
    expect(pages.length).toBeGreaterThan(2);
    expect(pages[0]).toMatch(/running[^]*waits for +its start time, until[^]*· ship +pending/);
    expect(pages.at(-1)).toMatch(/completed[^]*✓ ship +completed/);
    // As many lines back as the page before has.
    // oxlint-disable-next-line no-control-regex -- the cursor is moved by such codes
    const lines = (page: string) => page.replace(/\x1b\[\d+A/, '').split('\n').length - 1;
    expect(pages[0]).toContain(`\x1b[${lines(pages[0]!)}A`);
  });
});
