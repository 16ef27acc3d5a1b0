import { HttpClient, type Json, type SagaTimeline } from 'demo-support';
import type { Credit } from '../customer/credit.entity.js';
import type { Customer } from '../customer/customer.entity.js';
import type { OrderView } from '../order/orders.service.js';
import type { PlaceOrderDto } from '../order/place-order.dto.js';
import type { Payment } from '../payment/payment.entity.js';
import type { Hop } from '../service/hop.entity.js';

/** The running services, as their callers see them: over HTTP. */
abstract class ServiceClient extends HttpClient {
  /** The messages about an order that reached the service. */
  hops(orderId: string): Promise<Json<Hop>[]> {
    return this.send('GET', `/hops/${orderId}`);
  }
}

export class OrderClient extends ServiceClient {
  place(order: PlaceOrderDto): Promise<Json<OrderView>> {
    return this.send('POST', '/orders', order);
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
}

export class CustomerClient extends ServiceClient {
  put(id: string, creditLimit: number): Promise<Json<Customer>> {
    return this.send('PUT', `/customers/${id}`, { name: id, creditLimit });
  }

  customer(id: string): Promise<Json<Customer>> {
    return this.send('GET', `/customers/${id}`);
  }

  credit(orderId: string): Promise<Json<Credit>> {
    return this.send('GET', `/credits/${orderId}`);
  }
}

export class PaymentClient extends ServiceClient {
  payment(orderId: string): Promise<Json<Payment>> {
    return this.send('GET', `/payments/${orderId}`);
  }
}
