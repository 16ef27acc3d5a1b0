import { lastValueFrom, type Observable } from 'rxjs';

/** The used methods of a client of `@nestjs/microservices`. Any `ClientProxy` has them. */
export interface EventClient {
  /** Emits an event. The observable completes when the event was handed to the broker. */
  emit(pattern: string, data: unknown): Observable<unknown>;
  /** Closes the client when the application stops. */
  close(): unknown;
}

/** Resolves as soon as the client says that the event was handed over. */
export async function emitted(client: EventClient, topic: string, data: unknown): Promise<void> {
  await lastValueFrom(client.emit(topic, data), { defaultValue: undefined });
}
