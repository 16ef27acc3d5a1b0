/**
 * A server or a worker of Vendure with the plugin of docs/vendure.md. The server reports the outcome of a
 * saga as JSON.
 */
const {
  bootstrap,
  bootstrapWorker,
  Country,
  CountryService,
  DefaultLogger,
  LogLevel,
} = require('@vendure/core');
const { RequestContextService, TransactionalConnection } = require('@vendure/core');
const { SagaService } = require('nestjs-durable-saga');
const { MarketPlugin } = require('./dist/market.plugin.js');

const port = Number(process.env.PORT);
const config = {
  apiOptions: { port, adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
  authOptions: {
    tokenMethod: ['bearer', 'cookie'],
    superadminCredentials: { identifier: 'superadmin', password: 'superadmin' },
    cookieOptions: { secret: 'secret' },
  },
  dbConnectionOptions: {
    type: 'postgres',
    url: process.env.DATABASE_URL,
    synchronize: process.env.ROLE === 'server',
  },
  logger: new DefaultLogger({ level: LogLevel.Error }),
  paymentOptions: { paymentMethodHandlers: [] },
  plugins: [MarketPlugin],
};

async function serve() {
  const app = await bootstrap(config);
  const ctx = await app.get(RequestContextService).create({ apiType: 'admin' });
  const connection = app.get(TransactionalConnection);
  const create = (code, error) =>
    connection.withTransaction(ctx, async (transaction) => {
      const translations = [{ languageCode: 'en', name: code }];
      const country = await app
        .get(CountryService)
        .create(transaction, { code, enabled: true, translations });
      if (error) throw error;
      return country;
    });
  await create('AA', new Error('rolled back')).catch(() => undefined);
  const { id } = await create('BB');
  console.log('sagas running');
  const sagas = app.get(SagaService);
  const { items } = await sagas.find({});
  const { status, results } = await sagas.wait(items[0].id, { timeout: '60s' });
  const country = await connection.rawConnection.getRepository(Country).findOneBy({ id });
  const dashboard = `http://localhost:${port}/ops/sagas`;
  const authorization = `Bearer ${await login()}`;
  const visits = [await fetch(dashboard), await fetch(dashboard, { headers: { authorization } })];
  const ended = { sagas: items.length, status, process: results.disable.process, enabled: country.enabled };
  console.log(JSON.stringify({ ...ended, dashboard: visits.map((visit) => visit.status) }));
  await app.close();
  process.exit(0);
}

async function login() {
  const query = 'mutation { login(username: "superadmin", password: "superadmin") { __typename } }';
  const response = await fetch(`http://localhost:${port}/admin-api`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return response.headers.get('vendure-auth-token');
}

void (process.env.ROLE === 'worker' ? bootstrapWorker(config) : serve());
