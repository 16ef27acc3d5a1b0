import type { LoggerService } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { SagaService } from 'nestjs-durable-saga';
import { isKey } from 'nestjs-durable-saga/internal';
import { SAGA_ID, UnawaitedSignalError } from 'nestjs-durable-saga/internal/runtime';
import type { IncomingMessage } from './incoming-message.js';

/** Outcomes that a redelivery does not change: the reply came too late, or its saga does not exist. */
const FINAL = ['SAGA_NOT_FOUND', 'SAGA_STATE'];

/** The part of SagaService that is used. */
export interface Signals {
  signal(id: string, signal: string, payload: unknown, options: { messageId: string }): Promise<unknown>;
}

/**
 * Passes a reply on to its saga.
 * @throws whatever may be different next time: also if the saga goes by another graph than the one that has the signal. What
 * cannot be stored, and a signal that no graph of the saga has, is logged as an error, and dropped
 */
export async function signalReply(
  moduleRef: ModuleRef,
  signal: string,
  { id, headers, type }: IncomingMessage,
  payload: unknown,
  log: LoggerService,
): Promise<void> {
  const saga = headers[SAGA_ID];
  if (!isKey(saga) || !isKey(id)) {
    log.warn(
      `A reply of type '${type}' names no ${isKey(saga) ? 'id' : `saga (${SAGA_ID})`} in its headers. It is dropped`,
    );
    return;
  }
  try {
    await moduleRef
      .get<unknown, Signals>(SagaService, { strict: false })
      .signal(saga, signal, payload, { messageId: id });
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string };
    const refused = refusalOf(error);
    if (refused !== undefined) {
      log.error(`Reply ${id} to saga ${saga} ${refused}, and is dropped: ${message}`);
      return;
    }
    if (!FINAL.includes(code as string)) throw error;
    log.warn(
      `Reply ${id} to saga ${saga} arrived too late or for an unknown saga, and is dropped: ${message}`,
    );
  }
}

/** A mistake of the application, for which the reply would be refused for ever. */
function refusalOf(error: unknown): string | undefined {
  if ((error as { code?: unknown }).code === 'SAGA_PAYLOAD') return 'has a result that cannot be stored';
  const isUnknown = error instanceof UnawaitedSignalError && !error.elsewhere;
  return isUnknown ? 'is a signal that no step of the saga waits for' : undefined;
}
