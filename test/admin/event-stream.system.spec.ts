import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Page } from 'playwright-core';
import { Saga, WaitFor } from '../../libs/saga/src/index.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, TestBrowser } from './support/browser.js';

@Saga({ name: 'parcel' })
class Parcel {
  @WaitFor({ signal: 'packed' }) pack() {}
  @WaitFor({ signal: 'sent' }) send() {}
  @WaitFor({ signal: 'received' }) receive() {}
}

/** The network between the browser and the application, which a test can cut. */
class Network {
  private isCut = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async to(url: string): Promise<Network> {
    const port = Number(new URL(url).port);
    const server = createServer((from) => network.join(from, connect(port, '127.0.0.1')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const network = new Network(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return network;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  close(): Promise<void> {
    this.cut();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private join(from: Socket, to: Socket): void {
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
    if (this.isCut) from.destroy();
  }
}

/** The page receives no answer to its polls from now on: only the stream has the state of the saga. */
async function answerNoPolls(page: Page, id: string): Promise<void> {
  await page.route(`**/api/sagas/${id}`, () => new Promise(() => undefined));
}

inBrowser('the page of a saga', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();
  const networks: Network[] = [];
  afterEach(() => Promise.all(networks.splice(0).map((network) => network.close())));

  /** The page of a saga that waits to be packed, once its stream is open. */
  async function opened() {
    const { sagas, url } = await apps.start({ sagas: [Parcel] });
    const { id } = await sagas.start(Parcel, undefined, { correlationId: 'parcel-1' });
    const network = await Network.to(url);
    networks.push(network);
    const { page, wrongs } = await browser.visit(`${network.url}/sagas`);
    const streaming = page.waitForResponse(new RegExp(`/api/sagas/${id}/events$`));
    await page.goto(`${network.url}/sagas#/saga/${id}`);
    await page.locator('.sentence').getByText('packed').waitFor();
    await streaming;
    await answerNoPolls(page, id);
    await page.evaluate('window.isSamePage = true');
    const isSamePage = () => page.evaluate<boolean>('window.isSamePage === true');
    return { sagas, id, network, page, wrongs, isSamePage };
  }

  test('follows the saga by its stream of events, without polls or a reload', async () => {
    const { sagas, id, page, wrongs, isSamePage } = await opened();
    await sagas.signal(id, 'packed');
    await page.locator('.sentence').getByText('sent').waitFor();
    await sagas.signal(id, 'sent');
    await page.locator('.sentence').getByText('received').waitFor();
    await sagas.signal(id, 'received');
    await page.locator('.saga-head').getByText('completed').waitFor();
    expect(await isSamePage()).toBe(true);
    expect(wrongs).toEqual([]);
  });

  test('takes the stream up again after the connection was lost, with what happened meanwhile', async () => {
    const { sagas, id, network, page, isSamePage } = await opened();
    network.cut();
    await sagas.signal(id, 'packed');
    await sagas.signal(id, 'sent');
    network.mend();
    await page.locator('.sentence').getByText('received').waitFor();
    await sagas.signal(id, 'received');
    await page.locator('.saga-head').getByText('completed').waitFor();
    expect(await isSamePage()).toBe(true);
  });
});
