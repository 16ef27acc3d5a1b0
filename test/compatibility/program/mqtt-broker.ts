import { createServer } from 'node:net';
import * as aedes from 'aedes';

/** A broker of its own, in this process. */
export async function startBroker(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const broker = await aedes.Aedes.createBroker();
  const server = createServer((socket) => void broker.handle(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const stop = async () => {
    await new Promise<void>((resolve) => broker.close(() => resolve()));
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url: `mqtt://127.0.0.1:${port}`, stop };
}
