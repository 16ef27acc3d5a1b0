import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { delayed } from './bench.js';

/** Sends back what it receives, until the end. */
const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
let url: string;

beforeAll(async () => {
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  url = `postgres://user:pw@127.0.0.1:${(echo.address() as AddressInfo).port}/name`;
});

afterAll(() => echo.close());

async function through(delay: number, use: (socket: Socket) => Promise<void>): Promise<void> {
  const proxy = await delayed(url, delay);
  const { hostname, port } = new URL(proxy.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  await use(socket);
  socket.destroy();
  await proxy.close();
}

async function echoed(socket: Socket, length: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let size = 0; size < length; size += chunks.at(-1)!.length)
    chunks.push(((await once(socket, 'data')) as [Buffer])[0]);
  return Buffer.concat(chunks);
}

const tripOf = async (socket: Socket) => {
  const began = performance.now();
  socket.write('x');
  await echoed(socket, 1);
  return performance.now() - began;
};

test.each([0, 0.5, 2, 40])('a round trip takes %d ms longer, at least', async (delay) => {
  await through(delay, async (socket) => {
    for (let k = 0; k < 5; k += 1) expect(await tripOf(socket)).toBeGreaterThanOrEqual(delay);
  });
});

test('many bytes are on their way at once, and arrive in order', async () => {
  const delay = 100;
  const numbers = Buffer.from(Uint32Array.from({ length: 1e6 }, (_, n) => n).buffer);
  await through(delay, async (socket) => {
    const began = performance.now();
    for (let at = 0; at < numbers.length; at += 1_000) socket.write(numbers.subarray(at, at + 1_000));
    const back = await echoed(socket, numbers.length);
    // One at a time, the 4,000 parts would take 400 s.
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(back.equals(numbers)).toBe(true);
  });
});

test('the end of a connection arrives as well, after everything before it', async () => {
  await through(20, async (socket) => {
    socket.end('last');
    expect((await echoed(socket, 4)).toString()).toBe('last');
    await once(socket, 'end');
  });
});

test('only the address of the URL changes', async () => {
  const proxy = await delayed(url, 1);
  const [given, changed] = [new URL(url), new URL(proxy.url)];
  expect(changed.port).not.toBe(given.port);
  changed.port = given.port;
  expect(changed.toString()).toBe(given.toString());
  await proxy.close();
});
