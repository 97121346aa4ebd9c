from discreet.auditing.auditor import audit as audit
from discreet.auditing.findings import Finding as Finding
from discreet.auditing.findings import Witness as Witness
from discreet.auditing.report import AuditReport as AuditReport
from discreet.auditing.sessions import SessionReport as SessionReport
from discreet.auditing.sessions import audit_session as audit_session
