import { lastValueFrom, type Observable } from 'rxjs';

/** What is needed of a client of `@nestjs/microservices`: any `ClientProxy` has it. */
export interface EventClient {
  /** The observable completes once the event was handed over. */
  emit(pattern: string, data: unknown): Observable<unknown>;
  /** When the application stops. */
  close(): unknown;
}

/** Resolves as soon as the client says that the event was handed over. */
export async function emitted(client: EventClient, topic: string, data: unknown): Promise<void> {
  await lastValueFrom(client.emit(topic, data), { defaultValue: undefined });
}
