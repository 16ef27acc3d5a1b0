import { Injectable } from '@nestjs/common';

/** A participant that goes by idempotency keys, and counts how often it was really called. */
@Injectable()
export class StockService {
  readonly calls: string[] = [];
  private readonly reserved = new Map<string, string>();

  async reserve(orderId: string, idempotencyKey: string): Promise<string> {
    this.calls.push(idempotencyKey);
    this.reserved.set(orderId, idempotencyKey);
    return idempotencyKey;
  }

  async release(orderId: string): Promise<void> {
    this.reserved.delete(orderId);
  }

  has(orderId: string): boolean {
    return this.reserved.has(orderId);
  }
}
