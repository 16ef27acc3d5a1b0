import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A load balancer of connections: each goes to the next of some ports that answers. */
export class ConnectionBalancer {
  private readonly server = createServer((client) => void this.pass(client));
  private readonly open = new Set<Socket>();
  private turn = 0;

  private constructor(private readonly ports: readonly number[]) {}

  static async over(ports: readonly number[]): Promise<ConnectionBalancer> {
    const balancer = new ConnectionBalancer(ports);
    balancer.server.listen(0, '127.0.0.1');
    await once(balancer.server, 'listening');
    return balancer;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async pass(client: Socket): Promise<void> {
    this.keep(client);
    for (const _ of this.ports) {
      const server = this.keep(connect(this.ports[(this.turn += 1) % this.ports.length]!, '127.0.0.1'));
      if (!(await isConnected(server))) continue;
      client.pipe(server).pipe(client);
      client.on('close', () => server.destroy());
      server.on('close', () => client.destroy());
      return;
    }
    client.destroy();
  }

  private keep(socket: Socket): Socket {
    this.open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.open.delete(socket));
    return socket;
  }
}

function isConnected(socket: Socket): Promise<boolean> {
  return once(socket, 'connect').then(
    () => true,
    () => false,
  );
}
