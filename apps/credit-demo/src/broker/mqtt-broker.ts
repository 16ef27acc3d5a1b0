import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Aedes, type Client, type PublishPacket } from 'aedes';
import { StoredSessions } from './stored-sessions.js';

/** Remembers nothing: see `sendOutOfOrder`. */
const NO_DUPLICATES = new Proxy({}, { get: () => 0, set: () => true });

/**
 * An MQTT 3.1.1 broker whose acknowledgement of a message (QoS 1) means that it is stored for every session that
 * subscribes to it, and whose sessions outlive it. aedes by itself acknowledges first, and stores then: what is
 * killed in between has lost what it had promised to keep, with any of its persistences.
 */
export class MqttBroker {
  private constructor(
    private readonly aedes: Aedes,
    private readonly sessions: StoredSessions,
    private readonly server: Server,
  ) {}

  /** @param port 0: any free one */
  static async listen(folder: string, port: number): Promise<MqttBroker> {
    const sessions = await StoredSessions.open(folder);
    const aedes = await Aedes.createBroker({
      persistence: sessions,
      preConnect: (client, _packet, done) => {
        sendOutOfOrder(client);
        done(null, true);
      },
      // The one hook that aedes waits for before it acknowledges.
      authorizePublish: (_client, packet, done) => {
        storeFirst(sessions, packet).then(() => done(), done);
      },
    });
    const server = createServer((socket) => aedes.handle(socket));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new MqttBroker(aedes, sessions, server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.server.close();
    await new Promise<void>((resolve) => this.aedes.close(resolve));
    await this.sessions.destroy();
  }
}

async function storeFirst(sessions: StoredSessions, packet: PublishPacket): Promise<void> {
  if (packet.qos === 2) throw new Error('this broker does not keep QoS 2: publish with QoS 1');
  if (packet.retain) throw new Error('this broker keeps no retained messages');
  if (packet.topic.startsWith('$SYS/')) throw new Error('$SYS/ is the broker’s own');
  if (packet.qos === 1) await sessions.store(packet);
}

/**
 * aedes takes for a duplicate, and does not send, what has a lower number than something sent before. Here messages
 * get their numbers before they are stored and acknowledged, and may overtake each other until they are sent.
 */
function sendOutOfOrder(client: Client): void {
  Object.assign(client, { duplicates: NO_DUPLICATES });
}
