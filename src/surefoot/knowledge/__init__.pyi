"""The public names of the package, each with its module; they load when they are used."""

from surefoot.knowledge.anchor import (
    Anchor as Anchor,
    StandingAnchor as StandingAnchor,
    pull_share as pull_share,
)
from surefoot.knowledge.average_limit import (
    AverageCertificate as AverageCertificate,
    AverageLimit as AverageLimit,
    AverageMemory as AverageMemory,
)
from surefoot.knowledge.base import (
    Capability as Capability,
    Estimate as Estimate,
    Knowledge as Knowledge,
    Reading as Reading,
)
from surefoot.knowledge.certified_length import (
    CertifiedLength as CertifiedLength,
    LengthMemory as LengthMemory,
    LengthRegion as LengthRegion,
    StepCertificate as StepCertificate,
)
from surefoot.knowledge.choices import (
    Choices as Choices,
    OnChoices as OnChoices,
    make_domain as make_domain,
)
from surefoot.knowledge.context import (
    AnnouncedDrift as AnnouncedDrift,
    Column as Column,
    Columns as Columns,
    ContextKind as ContextKind,
    GivenContext as GivenContext,
)
from surefoot.knowledge.context_curvature import (
    ContextCurvature as ContextCurvature,
    MovedMemory as MovedMemory,
)
from surefoot.knowledge.context_hull import (
    ContextCertificate as ContextCertificate,
    ContextHull as ContextHull,
    ContextMemory as ContextMemory,
    ContextRegion as ContextRegion,
    Seen as Seen,
)
from surefoot.knowledge.curvature import (
    Curvature as Curvature,
    CurvatureCertificate as CurvatureCertificate,
    CurvatureMemory as CurvatureMemory,
    CurvatureRegion as CurvatureRegion,
    PullCertificate as PullCertificate,
)
from surefoot.knowledge.errors import (
    CertificateError as CertificateError,
    EmptyRegionError as EmptyRegionError,
    Errors as Errors,
    describe_errors as describe_errors,
    is_zero as is_zero,
    list_causes as list_causes,
)
from surefoot.knowledge.estimate import (
    EstimatedCertificate as EstimatedCertificate,
    EstimatedCurvature as EstimatedCurvature,
    EstimatedHull as EstimatedHull,
    EstimatedMemory as EstimatedMemory,
    UnknownConstant as UnknownConstant,
)
from surefoot.knowledge.hull import (
    HullCertificate as HullCertificate,
    HullMemory as HullMemory,
    HullRegion as HullRegion,
    LipschitzHull as LipschitzHull,
    Pairs as Pairs,
    find_radius as find_radius,
)
from surefoot.knowledge.hull_of_log import (
    HullOfLog as HullOfLog,
    LogCertificate as LogCertificate,
    LogMemory as LogMemory,
    LogRegion as LogRegion,
)
from surefoot.knowledge.limits import (
    LimitConstants as LimitConstants,
    certify_limits as certify_limits,
)
from surefoot.knowledge.ramp import (
    Ramped as Ramped,
    check_ramp as check_ramp,
    keep_anchor as keep_anchor,
    limit_steps as limit_steps,
)
from surefoot.knowledge.region import (
    OnePoint as OnePoint,
    PointCertificate as PointCertificate,
    Projection as Projection,
    Region as Region,
)
from surefoot.knowledge.relative_curvature import RelativeCurvature as RelativeCurvature
from surefoot.knowledge.response import (
    Lag as Lag,
    Response as Response,
)
from surefoot.knowledge.rows import (
    CurvatureRows as CurvatureRows,
    RowsRegion as RowsRegion,
    curvature_of as curvature_of,
)
from surefoot.knowledge.settling import (
    Settling as Settling,
    SettlingCertificate as SettlingCertificate,
    SettlingMemory as SettlingMemory,
)
from surefoot.knowledge.together import (
    Together as Together,
    TogetherCertificate as TogetherCertificate,
    TogetherMemory as TogetherMemory,
    TogetherRegion as TogetherRegion,
)

__all__: list[str]
