import type { SagaModuleOptions } from 'nestjs-durable-saga';

/** The ports of applications on Restate, which it reaches at one address. */
const ports = (process.env.RESTATE_PORTS ?? '').split(',').map(Number);
let opened = 0;

/** The options of SagaModule for the engine that the program runs on: PostgreSQL, or what RESTATE_INGRESS names. */
export async function onEngine(): Promise<SagaModuleOptions> {
  const { RESTATE_INGRESS: ingress, RESTATE_ADMIN: admin, RESTATE_ADDRESS: address } = process.env;
  if (!ingress || !admin) return {};
  // As a variable: where the package is not installed, nothing is to be compiled or loaded.
  const name: string = 'nestjs-durable-saga-restate';
  const { restateEngine } = (await import(name)) as {
    restateEngine(options: object): NonNullable<SagaModuleOptions['engine']>;
  };
  const port = ports[opened++ % ports.length];
  return { engine: restateEngine({ ingress, admin, port, address }), dataSource: 'default' };
}
