import { randomBytes, randomUUID } from 'node:crypto';
import { DatabaseServer, DemoProcess, ThrowawayDatabase } from 'demo-support';
import type { RelayedMessage } from 'nestjs-durable-saga-messaging';
import { transportTo } from '../service/brokers.js';
import type { Broker } from '../service/environment.js';
import { type Service, SERVICES } from '../service/service.js';
import { CustomerClient, OrderClient, PaymentClient } from './service-clients.js';
import { brokerForStage, type DemoBroker } from './demo-broker.js';

/** Short, so that a killed order service goes on soon; 30 s is a fair lease in production. */
const LEASE = '2s';

export interface DemoOptions {
  readonly broker: Broker;
  /** Default: for MQTT the embedded one; otherwise, and in any case if it is set, what the environment says. */
  readonly brokerUrl?: string;
  /** The PostgreSQL server. Default: one of our own. */
  readonly databaseUrl?: string;
}

/** Everything that the scenarios play on: a broker, and three services with a database each. */
export class DemoEnvironment {
  private readonly databases = {} as Record<Service, ThrowawayDatabase>;
  private readonly running = {} as Record<Service, DemoProcess>;
  private readonly urls = {} as Record<Service, string>;
  private readonly cleanUp: (() => Promise<void>)[] = [];
  /** The prefix of the topics: other demo environments may use the same broker. */
  readonly prefix = `credit-demo-${randomBytes(4).toString('hex')}`;
  private current: DemoBroker | undefined;
  private opened: Promise<void> | undefined;
  private closed: Promise<void> | undefined;

  constructor(private readonly options: DemoOptions) {}

  open(): Promise<void> {
    this.opened ??= this.setUp();
    return this.opened;
  }

  /** Ends the processes, and removes the databases. May be called at any time, and again. */
  close(): Promise<void> {
    this.closed ??= this.tearDown();
    return this.closed;
  }

  get broker(): DemoBroker {
    if (!this.current) throw new Error('The stage is not open');
    return this.current;
  }

  get orders(): OrderClient {
    return new OrderClient(this.urls.order);
  }

  get customers(): CustomerClient {
    return new CustomerClient(this.urls.customer);
  }

  get payments(): PaymentClient {
    return new PaymentClient(this.urls.payment);
  }

  database(service: Service): ThrowawayDatabase {
    return this.databases[service];
  }

  get processes(): DemoProcess[] {
    return Object.values(this.running);
  }

  process(service: Service): DemoProcess {
    return this.running[service];
  }

  /** Starts a service that was stopped or killed, where it was before. Its process may not be ready yet. */
  launch(service: Service): DemoProcess {
    const program = new URL(`../../dist/${service}/main.js`, import.meta.url);
    const { kind, url } = this.broker;
    return (this.running[service] = DemoProcess.start(`the ${service} service`, program, {
      DATABASE_URL: this.databases[service].url,
      BROKER: kind,
      [`${kind.toUpperCase()}_URL`]: url,
      TOPIC_PREFIX: this.prefix,
      SAGA_LEASE: LEASE,
      PORT: this.urls[service] ? new URL(this.urls[service]).port : '0',
    }));
  }

  /** Resolves once it is ready. */
  async start(service: Service): Promise<void> {
    const { url } = await this.launch(service).ready();
    this.urls[service] = url!;
  }

  /** Past every outbox: what a broker would deliver again. */
  async send(message: RelayedMessage): Promise<void> {
    const transport = transportTo(this.broker.kind, this.broker.url, this.prefix);
    try {
      const { id, type, key, headers } = message;
      // JetStream drops what it was given before; receivers go by the header.
      const sent = this.broker.kind === 'nats' ? randomUUID() : id;
      await transport.send({ ...message, id: sent, headers: { id, type, key, ...headers } });
    } finally {
      await transport.close?.();
    }
  }

  private async setUp(): Promise<void> {
    const server = await DatabaseServer.at(this.options.databaseUrl);
    this.cleanUp.push(() => server.stop());
    this.current = await brokerForStage(this.options.broker, this.options.brokerUrl);
    this.cleanUp.push(() => this.broker.close());
    for (const service of SERVICES) {
      const database = await ThrowawayDatabase.create(server.url, `credit_demo_${service}`);
      this.databases[service] = database;
      this.cleanUp.push(() => database.drop());
    }
    await Promise.all(SERVICES.map((service) => this.start(service)));
  }

  private async tearDown(): Promise<void> {
    await this.opened?.catch(() => undefined);
    await Promise.all(this.processes.map((service) => service.stop()));
    for (const undo of this.cleanUp.reverse()) {
      await undo().catch((error: Error) => console.error(`While tidying up: ${error.message}`));
    }
  }
}
