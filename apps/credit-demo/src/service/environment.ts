import type { Duration } from 'nestjs-durable-saga';

export const BROKERS = ['mqtt', 'rabbitmq', 'nats', 'kafka'] as const;
export type Broker = (typeof BROKERS)[number];

const DEFAULT_URLS: Readonly<Record<Broker, string>> = {
  mqtt: 'mqtt://127.0.0.1:1883',
  rabbitmq: 'amqp://127.0.0.1:5672',
  nats: 'nats://127.0.0.1:4222',
  kafka: '127.0.0.1:9092',
};

/** The environment of a service, read once and validated. */
export interface Environment {
  readonly databaseUrl: string;
  /** 0: any free port. */
  readonly port: number;
  readonly broker: Broker;
  readonly brokerUrl: string;
  /** How long a worker's silence is taken for its death. */
  readonly lease: Duration;
}

/** @throws Error naming every variable that is wrong, with the fix */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const problems: string[] = [];
  const port = Number(env.PORT || 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    problems.push(`PORT is '${env.PORT}'; give a whole number from 0 to 65535`);
  if (!env.DATABASE_URL)
    problems.push("DATABASE_URL is missing; give the URL of this service's own database");
  const broker = (env.BROKER || 'mqtt') as Broker;
  if (!BROKERS.includes(broker)) problems.push(`BROKER is '${broker}'; give one of ${BROKERS.join(', ')}`);
  if (problems.length > 0) throw new Error(`${problems.join('. ')}.`);
  return {
    databaseUrl: env.DATABASE_URL!,
    port,
    broker,
    brokerUrl: brokerUrl(broker, env),
    // SagaModule checks it.
    lease: (env.SAGA_LEASE || '30s') as Duration,
  };
}

/** MQTT_URL, RABBITMQ_URL, NATS_URL, KAFKA_URL; by default, the broker's usual port on this machine. */
export function brokerUrl(broker: Broker, env: NodeJS.ProcessEnv = process.env): string {
  return env[`${broker.toUpperCase()}_URL`] || DEFAULT_URLS[broker];
}
