import { HttpClient, type Json, type SagaTimeline } from 'demo-support';
import type { Page, SagaSummary } from 'nestjs-durable-saga';
import type { Fault } from '../faults/fault.entity.js';
import type { Participant } from '../faults/participants.js';
import type { SetFaultDto } from '../faults/set-fault.dto.js';
import type { OrderView } from '../orders/order-view.js';
import type { PlaceOrderDto } from '../orders/place-order.dto.js';
import type { LedgerEntry } from '../payment/ledger-entry.entity.js';

/** The running order service, as its customers and its operators see it: over HTTP. */
export class OrderClient extends HttpClient {
  place(order: PlaceOrderDto, idempotencyKey?: string): Promise<Json<OrderView>> {
    const headers = idempotencyKey ? { 'idempotency-key': idempotencyKey } : undefined;
    return this.send('POST', '/orders', order, headers);
  }

  order(id: string): Promise<Json<OrderView>> {
    return this.send('GET', `/orders/${id}`);
  }

  saga(id: string): Promise<Json<SagaTimeline>> {
    return this.send('GET', `/orders/${id}/saga`);
  }

  /** The order's saga once it has ended or needs an operator. */
  settled(id: string): Promise<Json<SagaTimeline>> {
    return this.send('GET', `/orders/${id}/saga?wait=25s`);
  }

  /** The ids of the orders whose sagas wait for an operator. */
  async stuck(): Promise<string[]> {
    const page = await this.send<Json<Page<SagaSummary>>>('GET', '/sagas?status=stuck');
    return page.items.map(({ correlationId }) => correlationId);
  }

  /** As an operator. */
  retry(id: string): Promise<Json<SagaTimeline>> {
    return this.send('POST', `/orders/${id}/saga/retry`);
  }

  ledger(id: string): Promise<Json<LedgerEntry>[]> {
    return this.send('GET', `/payments/${id}`);
  }

  break(
    participant: Participant,
    fault: Omit<SetFaultDto, 'delay'> & { delay?: number },
  ): Promise<Json<Fault>[]> {
    return this.send('PUT', `/faults/${participant}`, fault);
  }

  async heal(participant: Participant): Promise<void> {
    await this.send('DELETE', `/faults/${participant}`);
  }
}
