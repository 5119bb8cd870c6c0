import { type Attributes, type Meter, ValueType } from '@opentelemetry/api';
import { ATTR_ERROR_TYPE, ATTR_HTTP_RESPONSE_STATUS_CODE } from '@opentelemetry/semantic-conventions';
import type { PaymentsEvent } from 'payment-collection-client';

/** Seconds: a request takes less than one, a wait up to ten minutes. */
const REQUEST_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WAIT_BOUNDARIES = [1, 3, 5, 10, 15, 30, 60, 120, 300, 600, 3_600];

/** Creates a recorder of metrics. Attributes have few values. Durations are in seconds, as the conventions require. */
export function createMetricRecorder(meter: Meter, server: Attributes): (event: PaymentsEvent) => void {
  const seconds = (description: string, boundaries: number[]) => ({
    unit: 's',
    description,
    valueType: ValueType.DOUBLE,
    advice: { explicitBucketBoundaries: boundaries },
  });
  const active = meter.createUpDownCounter('payments.requests.active', {
    description: 'Requests in progress.',
  });
  const requests = meter.createHistogram(
    'payments.request.duration',
    seconds('From a request to the end of its response.', REQUEST_BOUNDARIES),
  );
  const retries = meter.createCounter('payments.retries', { description: 'Requests that are sent again.' });
  const polls = meter.createCounter('payments.polls', {
    description: 'Polls of waits, by the status or the error.',
  });
  const lag = meter.createHistogram(
    'payments.poll.lag',
    seconds('How much later than planned a poll was sent.', REQUEST_BOUNDARIES),
  );
  const waits = meter.createHistogram(
    'payments.wait.duration',
    seconds('From the charge to the end of the wait.', WAIT_BOUNDARIES),
  );
  const journal = meter.createCounter('payments.journal', {
    description: 'Calls whose idempotency key was used before, and results that could not be recorded.',
  });
  const resolved = meter.createCounter('payments.resolved', { description: 'Keys that a person resolved.' });
  const followUps = meter.createCounter('payments.follow_ups', {
    description: 'Steps of follow-ups, by their result.',
  });
  const warnings = meter.createCounter('payments.warnings', {
    description:
      'Settings of the database that can lose a record, webhooks without a reference, and calls that a close left.',
  });

  return (event) => {
    switch (event.type) {
      case 'request':
        return active.add(1, { ...server, ...createAttributes(event) });
      case 'response':
        active.add(-1, { ...server, 'payments.operation': event.operation });
        return requests.record(event.duration / 1000, { ...server, ...createAttributes(event) });
      case 'retry':
        return retries.add(1, createAttributes(event));
      case 'poll':
        polls.add(1, createAttributes(event));
        return lag.record(event.lag / 1000);
      case 'wait':
        return waits.record(event.elapsed / 1000, createAttributes(event));
      case 'journal':
        return journal.add(1, createAttributes(event));
      case 'resolved':
        return resolved.add(1, createAttributes(event));
      case 'follow_up':
        return followUps.add(1, createAttributes(event));
      case 'journal_warning':
      case 'warning':
        return warnings.add(1, createAttributes(event));
    }
  };
}

function createAttributes(event: PaymentsEvent): Attributes {
  switch (event.type) {
    case 'request':
      return { 'payments.operation': event.operation };
    case 'response':
      return {
        'payments.operation': event.operation,
        ...(event.status === null ? {} : { [ATTR_HTTP_RESPONSE_STATUS_CODE]: event.status }),
        ...errorAttribute(event),
      };
    case 'retry':
      return { 'payments.operation': event.operation, ...errorAttribute(event) };
    case 'poll':
      return { ...statusAttribute(event), ...errorAttribute(event) };
    case 'wait':
      return { 'payments.wait.result': event.result, ...statusAttribute(event) };
    case 'journal':
      return { 'payments.operation': event.operation, 'payments.journal.result': event.result };
    case 'resolved':
      return { 'payments.operation': event.operation, 'payments.resolved.result': event.result };
    case 'follow_up':
      return {
        'payments.follow_up.result': event.result,
        ...(event.reason === undefined ? {} : { 'payments.follow_up.reason': event.reason }),
        ...statusAttribute(event),
      };
    case 'journal_warning':
      return { 'payments.journal.setting': event.setting };
    case 'warning':
      return { 'payments.warning.code': event.code };
  }
}

const errorAttribute = ({ error }: { error?: string }): Attributes =>
  error === undefined ? {} : { [ATTR_ERROR_TYPE]: error };

const statusAttribute = ({ status }: { status?: string }): Attributes =>
  status === undefined ? {} : { 'payments.status': status };
