import type { DatabaseServer } from 'demo-support';
import { DASHBOARD_PATH } from './dashboard-path.js';

/** Printed by `npm start`. */
export function whatToTry(url: string, database: DatabaseServer): string {
  const json = `-H 'content-type: application/json'`;
  const order = (paymentToken: string) =>
    `{"sku":"walnut-desk","quantity":2,"paymentToken":"${paymentToken}",` +
    `"address":{"name":"Ada","street":"1 Engine Lane","city":"Leiden","country":"NL"}}`;
  return `
The order service listens at ${url}
Its sagas, for operators: ${url}/${DASHBOARD_PATH}
Its database: ${database.embedded ? `${database.url} (gone when this ends)` : 'the one in DATABASE_URL'}

Place an order (its answer holds the id), then look at it and at its saga:
  curl ${url}/orders ${json} -d '${order('tok_visa')}'
  curl ${url}/orders/<id>
  curl ${url}/orders/<id>/saga
or watch it live in a browser: ${url}/orders/<id>/page

A card that is declined; the stock goes back:
  curl ${url}/orders ${json} -d '${order('tok_declined')}'

Break a participant (inventory, payment, shipping: failing, slow, ambiguous), see it, heal it:
  curl -X PUT ${url}/faults/shipping ${json} -d '{"mode":"failing","times":2}'
  curl -X PUT ${url}/faults/payment ${json} -d '{"operation":"refund","mode":"failing"}'
  curl ${url}/faults
  curl -X DELETE ${url}/faults/payment

A stuck saga needs attention. Open the page above, or run:
  curl '${url}/sagas?status=stuck'
  curl -X POST ${url}/orders/<id>/saga/retry

What the participants have in their own books:
  curl ${url}/inventory
  curl ${url}/payments/<order id>
  curl ${url}/shipments/<order id>

Ctrl-C ends it.
`;
}
