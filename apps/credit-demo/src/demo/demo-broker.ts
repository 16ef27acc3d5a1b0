import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DemoProcess } from 'demo-support';
import { type Broker, brokerUrl } from '../service/environment.js';
import { BrokerLink } from './broker-link.js';

const PROGRAM = new URL('../../dist/broker/main.js', import.meta.url);

/** The broker that the services of a stage talk over, which can be taken down and brought back. */
export interface DemoBroker {
  readonly kind: Broker;
  /** Where the services find it. The same for as long as the stage is there. */
  readonly url: string;
  /** In words, what taking it down is. */
  readonly wayDown: string;
  takeDown(): Promise<void>;
  bringBack(): Promise<void>;
  /** The process of the embedded broker. */
  readonly process?: DemoProcess;
  /** Starts the embedded broker again; it may not be ready yet. */
  relaunch?(): DemoProcess;
  /** Removes what is ours of it. */
  close(): Promise<void>;
}

/**
 * @param url default: for MQTT the embedded broker, if MQTT_URL is not set; otherwise what the environment
 * names
 */
export function brokerForStage(kind: Broker, url?: string): Promise<DemoBroker> {
  if (kind === 'mqtt' && !url && !process.env.MQTT_URL) return EmbeddedBroker.start();
  return ReachedBroker.at(kind, url ?? brokerUrl(kind));
}

/** Ours, from npm, in a process of its own. */
export class EmbeddedBroker implements DemoBroker {
  readonly kind = 'mqtt';
  readonly wayDown = 'kill -9';

  private constructor(
    private readonly folder: string,
    private current: DemoProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<EmbeddedBroker> {
    const folder = await mkdtemp(join(tmpdir(), 'credit-demo-mqtt-'));
    const broker = launch(folder, '0');
    const { url } = await broker.ready();
    return new EmbeddedBroker(folder, broker, url!);
  }

  get process(): DemoProcess {
    return this.current;
  }

  takeDown(): Promise<void> {
    return this.current.kill();
  }

  /** From what its folder holds. */
  relaunch(): DemoProcess {
    return (this.current = launch(this.folder, new URL(this.url).port));
  }

  async bringBack(): Promise<void> {
    await this.relaunch().ready();
  }

  async close(): Promise<void> {
    await this.current.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One that runs somewhere: what goes down is the way to it. */
class ReachedBroker implements DemoBroker {
  readonly wayDown = 'cut off';

  private constructor(
    readonly kind: Broker,
    private readonly link: BrokerLink,
  ) {}

  static async at(kind: Broker, url: string): Promise<ReachedBroker> {
    const link = new BrokerLink(new URL(url));
    await link.open();
    return new ReachedBroker(kind, link);
  }

  get url(): string {
    return this.link.url;
  }

  takeDown(): Promise<void> {
    return this.link.close();
  }

  bringBack(): Promise<void> {
    return this.link.open();
  }

  close(): Promise<void> {
    return this.link.close();
  }
}

function launch(folder: string, port: string): DemoProcess {
  return DemoProcess.start('the broker', PROGRAM, { MQTT_FOLDER: folder, MQTT_PORT: port });
}
