import { fileURLToPath, pathToFileURL } from 'node:url';
import { DemoProcess } from 'demo-support';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { inBrowser, TestBrowser } from './support/browser.js';

const PROGRAM = pathToFileURL(fileURLToPath(new URL('../../apps/order-demo/dist/main.js', import.meta.url)));
const MINUTE = 60_000;
/** Its carrier does not deliver there. */
const ORDER = {
  ...{ sku: 'walnut-desk', quantity: 2, paymentToken: 'tok_visa' },
  address: { name: 'Ada', street: '1 Ice', city: 'McMurdo', country: 'AQ' },
};

inBrowser('the order demo, as `npm start` serves it', () => {
  const browser = TestBrowser.open();
  let database: TestDatabase;
  let demo: DemoProcess;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    demo = DemoProcess.start('demo', PROGRAM, {
      DATABASE_URL: database.url,
      PORT: '0',
      SAGA_COMPENSATION_ATTEMPTS: '2',
    });
    url = (await demo.ready()).url!;
  });

  afterAll(async () => {
    await demo.stop();
    await database.drop();
  });

  test('a stuck order is found and freed in the dashboard alone, in under a minute', async () => {
    await send(url, 'PUT', '/faults/payment', { mode: 'failing', operation: 'refund' });
    const { id } = await send<{ id: string }>(url, 'POST', '/orders', ORDER);
    await send(url, 'GET', `/orders/${id}/saga?wait=25s`);
    await send(url, 'DELETE', '/faults/payment');

    const startTime = Date.now();
    const { page, wrongs } = await browser.visit(`${url}/admin/sagas`);
    await page.getByRole('heading', { name: '1 saga needs attention' }).waitFor();
    await page.getByRole('link', { name: id }).click();
    await page.getByText('payment is down').first().waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('the bank is well again');
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await page.getByText('It was compensated').waitFor();
    expect(Date.now() - startTime).toBeLessThan(MINUTE);
    expect((await send<{ status: string }>(url, 'GET', `/orders/${id}`)).status).toBe('cancelled');
    expect(wrongs).toEqual([]);
  });

  test("the customer's page shows an order live, until it has ended", async () => {
    await send(url, 'PUT', '/faults/payment', { mode: 'failing', operation: 'refund' });
    const { id } = await send<{ id: string }>(url, 'POST', '/orders', ORDER);
    const { page, wrongs } = await browser.visit(`${url}/orders/${id}/page`);
    await page.getByText('delayed', { exact: true }).waitFor();
    expect(await page.getByRole('listitem').allTextContents()).toContain('chargeCard: compensation_failed');
    await send(url, 'DELETE', '/faults/payment');
    await send(url, 'POST', `/orders/${id}/saga/retry`, {});
    await page.getByText('cancelled', { exact: true }).waitFor();
    expect(await page.getByRole('listitem').allTextContents()).toContain('chargeCard: compensated');
    expect(wrongs).toEqual([]);
  });
});

async function send<T>(url: string, method: string, path: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}
