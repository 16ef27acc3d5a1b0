import { once } from 'node:events';
import { request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { Gate, until } from '../../../../../test/support/gate.js';
import { Callers } from '../access/callers.js';
import { Front } from './front.js';

/** A server whose application answers when the test says so. */
async function frontOf() {
  const begun: string[] = [];
  const seen: string[] = [];
  const goOn = new Gate();
  const callers = new Callers(undefined);
  const identify = callers.identify.bind(callers);
  callers.identify = (request) => {
    seen.push(request.url!);
    return identify(request);
  };
  const front = new Front({
    ...{ callers, pages: {}, open: {} },
    application: () => async (request, response) => {
      begun.push(request.url!);
      if (request.url === '/slow') await goOn.opened;
      else await text(request).catch(() => undefined);
      response.end('done');
    },
  });
  const { port } = await front.listen(0, '127.0.0.1');
  const post = (path: string) => {
    const request = send({ port, host: '127.0.0.1', path, method: 'POST', headers: { 'content-length': 2 } });
    request.on('error', () => undefined);
    request.flushHeaders();
    return request;
  };
  return { front, begun, seen, goOn, post };
}
type Scene = Awaited<ReturnType<typeof frontOf>>;

let scene: Scene;
beforeEach(async () => void (scene = await frontOf()));
afterEach(async () => {
  scene.goOn.open();
  scene.front.stop();
  await scene.front.close(0);
});

describe('what holds requests back', () => {
  test('does not count a request whose client disconnects meanwhile', async () => {
    const { front, begun, seen, goOn, post } = scene;
    post('/slow').end('{}');
    await until(() => begun.includes('/slow'));
    const holding = front.hold();
    const held = post('/held');
    held.end('{}');
    await until(() => seen.includes('/held'));
    held.destroy();
    await until(() => held.closed);
    goOn.open();
    await holding;
    front.resume();
    await front.hold();
    front.resume();
    expect(begun).toEqual(['/slow']);
  });

  test('ends a request whose body does not come, which has changed nothing', async () => {
    const { front, begun, post } = scene;
    const endless = post('/endless');
    await until(() => begun.includes('/endless'));
    await front.hold();
    await until(() => endless.closed);
    front.resume();
  });

  test('fails within its bound while a request is in progress, and the next one does not', async () => {
    const { front, begun, goOn, post } = scene;
    const slow = post('/slow');
    slow.end('{}');
    await until(() => begun.includes('/slow'));
    await expect(front.hold()).rejects.toThrow(/1 request that changes sagas has not ended within 10 s/);
    front.resume();
    const answer = once(slow, 'response');
    goOn.open();
    await answer;
    await front.hold();
    front.resume();
  });
});
