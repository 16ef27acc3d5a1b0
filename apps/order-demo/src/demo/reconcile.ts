import { euros, paint, short, type ThrowawayDatabase } from 'demo-support';
import { DEMO_SCHEMA } from '../database/schema.js';
import type { Ending } from './scenario.js';

/** What the participants' own tables say, asked without any saga in between. */
interface Records {
  readonly ledger: readonly { order_id: string; amount: number }[];
  readonly reservations: readonly { order_id: string; sku: string; quantity: number }[];
  readonly shipments: readonly { order_id: string; parcels: number }[];
  readonly stock: Stock;
}

export type Stock = Readonly<Record<string, number>>;

export async function readStock(database: ThrowawayDatabase): Promise<Stock> {
  const rows = await database.query<{ sku: string; on_hand: number }>(
    `SELECT sku, on_hand FROM ${DEMO_SCHEMA}.stock`,
  );
  return Object.fromEntries(rows.map(({ sku, on_hand }) => [sku, on_hand]));
}

/**
 * Compares the participants' records with what the customers were promised, and shows both.
 * @param before the stock before the first order
 * @returns what does not add up
 */
export async function reconcile(
  database: ThrowawayDatabase,
  endings: readonly Ending[],
  before: Stock,
): Promise<string[]> {
  const records = await readRecords(database);
  printRecords(records, endings);
  const claims = [
    [
      'money: confirmed orders are paid once and in full, the others cost nothing',
      wrongMoney(records, endings),
    ],
    ['stock: what left the shelves is what the confirmed orders hold', wrongStock(records, endings, before)],
    ['shipments: one for each confirmed order, none for the others', wrongShipments(records, endings)],
  ] as const;
  for (const [claim, wrong] of claims) {
    console.log(`   ${wrong.length === 0 ? paint('green', '✔') : paint('red', '✘')} ${claim}`);
    for (const problem of wrong) console.log(`     ${paint('red', problem)}`);
  }
  return claims.flatMap(([, wrong]) => wrong);
}

async function readRecords(database: ThrowawayDatabase): Promise<Records> {
  const [ledger, reservations, shipments, stock] = await Promise.all([
    database.query<Records['ledger'][number]>(`SELECT order_id, amount FROM ${DEMO_SCHEMA}.ledger_entry`),
    database.query<Records['reservations'][number]>(
      `SELECT order_id, sku, quantity FROM ${DEMO_SCHEMA}.reservation WHERE status = 'held'`,
    ),
    database.query<Records['shipments'][number]>(
      `SELECT order_id, parcels FROM ${DEMO_SCHEMA}.shipment WHERE status = 'booked'`,
    ),
    readStock(database),
  ]);
  return { ledger, reservations, shipments, stock };
}

function printRecords({ ledger, reservations, shipments }: Records, endings: readonly Ending[]): void {
  const columns = ['order', 'promised', 'price', 'charged', 'refunded', 'held', 'shipped'];
  const rows = endings.map(({ orderId, status, amount }) => {
    const entries = ledger.filter((entry) => entry.order_id === orderId).map((entry) => entry.amount);
    return [
      short(orderId),
      status,
      euros(amount),
      euros(sum(entries.filter((entry) => entry > 0))),
      euros(-sum(entries.filter((entry) => entry < 0))),
      String(sum(reservations.filter((row) => row.order_id === orderId).map((row) => row.quantity))),
      String(sum(shipments.filter((row) => row.order_id === orderId).map((row) => row.parcels))),
    ];
  });
  for (const [n, row] of [columns, ...rows].entries()) {
    const line = `   ${row.map((cell) => cell.padStart(10)).join('')}`;
    console.log(n === 0 ? paint('dim', line) : line);
  }
}

function wrongMoney({ ledger }: Records, endings: readonly Ending[]): string[] {
  const wrong = endings.flatMap(({ orderId, status, amount }) => {
    const entries = ledger.filter((entry) => entry.order_id === orderId).map((entry) => entry.amount);
    const charges = entries.filter((entry) => entry > 0).length;
    const due = status === 'confirmed' ? amount : 0;
    return [
      ...(charges > 1 ? [`order ${orderId} was charged ${charges} times`] : []),
      ...(sum(entries) === due
        ? []
        : [`order ${orderId} cost ${euros(sum(entries))} instead of ${euros(due)}`]),
    ];
  });
  return [...wrong, ...strangers('ledger entry', ledger, endings)];
}

function wrongStock({ stock, reservations }: Records, endings: readonly Ending[], before: Stock): string[] {
  const skus = Object.keys(before).flatMap((sku) => {
    const sold = sum(endings.filter((e) => e.sku === sku && e.status === 'confirmed').map((e) => e.quantity));
    const gone = before[sku]! - (stock[sku] ?? 0);
    const held = sum(reservations.filter((row) => row.sku === sku).map((row) => row.quantity));
    return gone === sold && held === sold
      ? []
      : [`${sku}: ${sold} sold, ${held} held, ${gone} gone from the shelves`];
  });
  return [...skus, ...strangers('reservation', reservations, endings)];
}

function wrongShipments({ shipments }: Records, endings: readonly Ending[]): string[] {
  const wrong = endings.flatMap(({ orderId, quantity, status }) => {
    const parcels = shipments.filter((row) => row.order_id === orderId).map((row) => row.parcels);
    const due = status === 'confirmed' ? [quantity] : [];
    return String(parcels) === String(due)
      ? []
      : [`order ${orderId}: ${sum(parcels)} parcels in ${parcels.length} shipments instead of ${sum(due)}`];
  });
  return [...wrong, ...strangers('shipment', shipments, endings)];
}

/** What belongs to no order that anyone placed. */
function strangers(
  what: string,
  rows: readonly { order_id: string }[],
  endings: readonly Ending[],
): string[] {
  const known = new Set(endings.map(({ orderId }) => orderId));
  return rows
    .filter((row) => !known.has(row.order_id))
    .map((row) => `a ${what} of an unknown order ${row.order_id}`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
