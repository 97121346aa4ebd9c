from discreet.local.base import LocalMechanism as LocalMechanism
from discreet.local.randomized_response import RandomizedResponse as RandomizedResponse
from discreet.local.rappor import Rappor as Rappor
from discreet.local.subset_selection import SubsetSelection as SubsetSelection
from discreet.local.subset_selection import best_local_mechanism as best_local_mechanism
from discreet.mechanisms.above_threshold import AboveThreshold as AboveThreshold
from discreet.mechanisms.ball import BallExponentialMechanism as BallExponentialMechanism
from discreet.mechanisms.bounded_laplace import BoundedDiscreteLaplace as BoundedDiscreteLaplace
from discreet.mechanisms.correlated_counts import CorrelatedCounts as CorrelatedCounts
from discreet.mechanisms.deepest_point import DeepestPoint as DeepestPoint
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace as DiscreteLaplace
from discreet.mechanisms.generalized_exponential import (
    GeneralizedExponentialMechanism as GeneralizedExponentialMechanism,
)
from discreet.mechanisms.histogram_top_k import HistogramTopK as HistogramTopK
from discreet.mechanisms.histogram_top_k import UnknownDomainHistogram as UnknownDomainHistogram
from discreet.mechanisms.interval import (
    IntervalExponentialMechanism as IntervalExponentialMechanism,
)
from discreet.mechanisms.joint_top_k import JointTopK as JointTopK
from discreet.mechanisms.lattice import LatticeExponentialMechanism as LatticeExponentialMechanism
from discreet.mechanisms.pay_what_you_get import PayWhatYouGet as PayWhatYouGet
from discreet.mechanisms.peeling_top_k import PeelingTopK as PeelingTopK
from discreet.mechanisms.private_candidate import (
    select_private_candidate as select_private_candidate,
)
from discreet.mechanisms.probability_table import MechanismRange as MechanismRange
from discreet.mechanisms.probability_table import mechanism_range as mechanism_range
from discreet.mechanisms.rounded_gaussian import RoundedGaussian as RoundedGaussian
from discreet.mechanisms.selection import ExponentialMechanism as ExponentialMechanism
from discreet.mechanisms.selection import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.selection import ReportNoisyMax as ReportNoisyMax
from discreet.mechanisms.subspace import (
    SubspaceExponentialMechanism as SubspaceExponentialMechanism,
)
from discreet.mechanisms.unknown_domain import UnknownDomainTopK as UnknownDomainTopK
from discreet.randomness.chance import Bits as Bits
from discreet.randomness.chance import SystemBits as SystemBits
